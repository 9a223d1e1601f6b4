#include <algorithm>
#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/quant/quantizer.h>

#include "tests/layers/support.h"

namespace octet::quant {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr Calibration kMethods[] = {
    Calibration::max,        Calibration::ema, Calibration::percentile,
    Calibration::last_value, Calibration::mse, Calibration::entropy};

std::unique_ptr<RangeObserver> observer(Calibration method) {
  return make_observer({.method = method});
}
std::unique_ptr<RangeObserver> percentile(float share) {
  return make_observer(
      {.method = Calibration::percentile, .percentile = share});
}

/// top/n, 2*top/n, ..., top, with alternating signs.
Tensor uniform(float top, int64_t n) {
  Tensor x(Shape{n});
  for (int64_t i = 0; i < n; ++i) {
    const float value = top * static_cast<float>(i + 1) / static_cast<float>(n);
    x.f32()[static_cast<size_t>(i)] = i % 2 == 0 ? value : -value;
  }
  return x;
}

Tensor normal(int64_t n) {
  Tensor x(Shape{n});
  Rng(3).fill_normal(x, 0, 1);
  return x;
}

/// The smallest magnitude not exceeded by `share` % of the values.
float quantile(const std::vector<Tensor>& batches, double share) {
  std::vector<float> all;
  for (const Tensor& batch : batches) {
    for (const float v : batch.f32()) all.push_back(std::fabs(v));
  }
  std::ranges::sort(all);
  const double wanted =
      std::ceil(static_cast<double>(all.size()) * share / 100);
  return all[static_cast<size_t>(wanted) - 1];
}

TEST(Observer, HasNoRangeWithoutData) {
  for (const Calibration method : kMethods) {
    EXPECT_EQ(observer(method)->range(), std::nullopt);
  }
}

TEST(Observer, HasRangeZeroForZeros) {
  for (const Calibration method : kMethods) {
    const auto o = observer(method);
    o->observe(Tensor::zeros({100}));
    o->observe(tensor({2}, {0.0f, -0.0f}));
    EXPECT_EQ(o->range(), 0.0f);
  }
}

TEST(Observer, SupportsASingleValue) {
  for (const Calibration method : kMethods) {
    const auto o = observer(method);
    o->observe(Tensor::scalar(-3));
    EXPECT_EQ(o->range(), 3.0f);
  }
}

TEST(Observer, SupportsExtremeMagnitudes) {
  for (const Calibration method : kMethods) {
    for (const float top :
         {std::numeric_limits<float>::max(), std::numeric_limits<float>::min(),
          std::numeric_limits<float>::denorm_min()}) {
      const auto o = observer(method);
      o->observe(tensor({2}, {0, top}));
      ASSERT_TRUE(o->range().has_value());
      EXPECT_EQ(*o->range(), top);
    }
  }
}

/// Leading zeros, growth by much and by little, shrinking, a single value.
TEST(Observer, MergesExactly) {
  const std::vector<Tensor> batches{Tensor::zeros({5}), uniform(0.3f, 40),
                                    normal(300),        Tensor::full({1}, 1e6f),
                                    uniform(2, 17),     Tensor::zeros({3})};
  for (const Calibration method : kMethods) {
    for (size_t first = 0; first <= batches.size(); ++first) {
      for (size_t second = first; second <= batches.size(); ++second) {
        const auto whole = observer(method);
        std::vector<std::unique_ptr<RangeObserver>> parts;
        for (int i = 0; i < 3; ++i) parts.push_back(observer(method));
        for (size_t i = 0; i < batches.size(); ++i) {
          whole->observe(batches[i]);
          parts[i < first ? 0 : i < second ? 1 : 2]->observe(batches[i]);
        }
        parts[0]->merge(parts[1]->state());
        parts[0]->merge(parts[2]->state());
        EXPECT_EQ(parts[0]->range(), whole->range());
        EXPECT_EQ(parts[0]->state(), whole->state());
        const auto anew = observer(method);
        anew->merge(whole->state());
        EXPECT_EQ(anew->state(), whole->state());
      }
    }
  }
  EXPECT_THROW(observer(Calibration::max)->merge(Config()), Error);
}

TEST(Observer, RefusesNanAndInfinity) {
  for (const Calibration method : kMethods) {
    const auto o = observer(method);
    for (const float bad : {kNan, kInfinity, -kInfinity}) {
      EXPECT_EQ(failure_of<ValueError>([&] {
                  o->observe(tensor({3}, {1, bad, 2}));
                }),
                (Failure{"not_finite", "calibration"}));
    }
    EXPECT_EQ(o->range(), std::nullopt);
  }
}

TEST(Observer, RefusesARateOutOfRange) {
  for (const float rate : {0.0f, -0.1f, 1.1f, kNan}) {
    EXPECT_EQ(failure_of<ValueError>([&] {
                make_observer({.method = Calibration::ema, .ema_rate = rate});
              }),
              (Failure{"out_of_range", "CalibrationOptions.ema_rate"}));
  }
  EXPECT_NO_THROW(
      make_observer({.method = Calibration::ema, .ema_rate = 1.0f}));
}

TEST(Observer, RefusesAPercentileOutOfRange) {
  // Includes shares given in place of percentages.
  for (const float share : {0.9999f, 1.0f, 49.9f, 0.0f, -1.0f, 100.1f, kNan}) {
    EXPECT_EQ(failure_of<ValueError>([&] { percentile(share); }),
              (Failure{"out_of_range", "CalibrationOptions.percentile"}));
  }
  EXPECT_NO_THROW(percentile(50));
  EXPECT_NO_THROW(percentile(100));
}

TEST(MaxObserver, KeepsTheLargestMagnitudeOfAllBatches) {
  const auto o = observer(Calibration::max);
  o->observe(tensor({3}, {1, -4, 2}));
  o->observe(tensor({2}, {3, 0}));
  EXPECT_EQ(o->range(), 4.0f);
  o->observe(tensor({1}, {4.5f}));
  EXPECT_EQ(o->range(), 4.5f);
}

TEST(EmaObserver, StartsAtTheFirstBatchAndMovesByItsRate) {
  const auto o = make_observer({.method = Calibration::ema, .ema_rate = 0.25f});
  o->observe(tensor({2}, {-10, 1}));
  EXPECT_EQ(o->range(), 10.0f);
  o->observe(tensor({2}, {20, 2}));
  EXPECT_EQ(o->range(), 12.5f);
  o->observe(tensor({2}, {0, 0}));
  EXPECT_EQ(o->range(), 9.375f);
}

TEST(EmaObserver, WithRateOneFollowsTheLastBatch) {
  const auto o = make_observer({.method = Calibration::ema, .ema_rate = 1});
  o->observe(tensor({1}, {10}));
  o->observe(tensor({1}, {-3}));
  EXPECT_EQ(o->range(), 3.0f);
}

/// Width of a bin, relative to its values.
constexpr float kBin = 1.0f / 256;

TEST(PercentileObserver, GivesNearlyTheMaximumOfUniformData) {
  const auto o = percentile(99.99f);
  o->observe(uniform(4, 20000));
  ASSERT_TRUE(o->range().has_value());
  EXPECT_GE(*o->range(), 3.9996f);
  EXPECT_LE(*o->range(), 4.0f);
}

TEST(PercentileObserver, GivesTheMaximumAt100) {
  const auto o = percentile(100);
  o->observe(uniform(4, 1000));
  o->observe(uniform(7.3f, 10));
  EXPECT_EQ(o->range(), 7.3f);
}

TEST(PercentileObserver, GivesTheMedianWithinOneBin) {
  const auto o = percentile(50);
  o->observe(uniform(4, 20000));
  EXPECT_NEAR(*o->range(), 2.0f, 2.0f * kBin);
}

TEST(PercentileObserver, GivesTheMaximumIfThePercentileIsZero) {
  // E.g. after a ReLU.
  Tensor x = Tensor::zeros({100});
  x.f32()[7] = 3;
  x.f32()[70] = 2;
  const auto o = percentile(50);
  o->observe(x);
  EXPECT_EQ(o->range(), 3.0f);
  const auto zeros = percentile(50);
  zeros->observe(Tensor::zeros({100}));
  EXPECT_EQ(zeros->range(), 0.0f);
}

TEST(PercentileObserver, IgnoresAnOutlierAt100Sigma) {
  Tensor x = normal(100000);
  x.f32()[5] = -100;
  const auto o = percentile(99.99f);
  o->observe(x);
  const float exact = quantile({x}, 99.99);
  ASSERT_LT(exact, 5.0f);  // 3.9 sigma
  EXPECT_NEAR(*o->range(), exact, exact * kBin);
}

TEST(PercentileObserver, IgnoresAnOutlierInALaterBatch) {
  const Tensor x = normal(100000);
  const auto o = percentile(99.99f);
  o->observe(x);
  o->observe(Tensor::scalar(100));
  EXPECT_NEAR(*o->range(), quantile({x}, 99.99), 0.05f);
}

// Even an outlier 100,000 times the other values costs no resolution.
TEST(PercentileObserver, ResolvesTheRestBesideAHugeOutlier) {
  Tensor x = uniform(1, 100000);
  x.f32()[0] = 1e5f;
  const auto o = percentile(99.9f);
  o->observe(x);
  const float exact = quantile({x}, 99.9);
  EXPECT_NEAR(*o->range(), exact, exact * kBin);
}

TEST(PercentileObserver, IsExactToABinForAnyBatches) {
  for (const float top :
       {1e-30f, 1.0f, 1.5f, 3.999f, 4.0f, 4.001f, 10.0f, 1e4f, 1e9f}) {
    const std::vector<Tensor> batches{uniform(1, 3000), uniform(top, 7000)};
    for (const float share : {50.0f, 75.0f, 99.0f, 99.99f}) {
      SCOPED_TRACE(::testing::Message() << share << " % up to " << top);
      const auto o = percentile(share);
      for (const Tensor& batch : batches) o->observe(batch);
      const float exact = quantile(batches, share);
      // The upper edge of the bin, up to rounding.
      EXPECT_GE(*o->range(), exact * (1 - 1e-6f));
      EXPECT_LE(*o->range(), exact * (1 + kBin));
    }
  }
}

TEST(PercentileObserver, DoesNotShrinkForASmallerBatch) {
  const auto o = percentile(99.99f);
  o->observe(uniform(8, 1000));
  o->observe(uniform(1, 10));
  EXPECT_NEAR(*o->range(), 8.0f, 8.0f / 2048);
}

TEST(PercentileObserver, CountsLeadingZeros) {
  const auto build = [](float share) {
    auto o = percentile(share);
    o->observe(Tensor::zeros({900}));
    o->observe(Tensor::full({50}, 1));
    o->observe(Tensor::full({50}, 2));
    return *o->range();
  };
  EXPECT_NEAR(build(92), 1.0f, 2.0f / 256);  // of nonzero values alone: 2
  EXPECT_EQ(build(99), 2.0f);
}

TEST(PercentileObserver, CountsABatchAsItsParts) {
  const Tensor x = normal(10000);
  const auto whole = percentile(99);
  const auto parts = percentile(99);
  whole->observe(x);
  // The largest value first, for equal bins.
  const auto data = x.f32();
  const auto top =
      std::ranges::max_element(data, {}, [](float v) { return std::fabs(v); });
  parts->observe(Tensor::scalar(*top));
  const int64_t at = top - data.begin();
  parts->observe(x.slice(0, at));
  parts->observe(x.slice(at + 1, x.size() - at - 1));
  EXPECT_EQ(parts->range(), whole->range());
}

TEST(PercentileObserver, GrowsOverAllMagnitudes) {
  const auto o = percentile(100);
  o->observe(Tensor::scalar(std::numeric_limits<float>::denorm_min()));
  o->observe(Tensor::scalar(std::numeric_limits<float>::max()));
  EXPECT_EQ(o->range(), std::numeric_limits<float>::max());
}

}  // namespace
}  // namespace octet::quant
