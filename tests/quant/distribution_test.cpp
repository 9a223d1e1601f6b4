// Calibration methods based on the distribution, against closed forms and their
// definitions in double.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "../facts.h"
#include "support.h"

namespace octet::quant {
namespace {

using ::testing::ElementsAre;

constexpr Calibration kOfAllBatches[] = {
    Calibration::max, Calibration::percentile, Calibration::mse,
    Calibration::entropy};

float range_of(Calibration method, const std::vector<Tensor>& batches,
               int high = 127) {
  const auto observer = make_observer({.method = method}, high);
  for (const Tensor& batch : batches) observer->observe(batch);
  return observer->range().value();
}

Tensor gaussian(int64_t n, uint64_t seed = 3) {
  Tensor x(Shape{n});
  Rng(seed).fill_normal(x, 0, 1);
  return x;
}

Tensor mapped(Tensor x, const std::function<float(float)>& f) {
  for (float& v : x.f32()) v = f(v);
  return x;
}

struct Sample {
  std::string name;
  Tensor values;
};

std::vector<Sample> distributions() {
  return {
      {"normal", gaussian(30001)},
      {"behind ReLU",
       mapped(gaussian(30001), [](float v) { return std::max(v, 0.0f); })},
      {"Laplace-like",
       mapped(gaussian(30001), [](float v) { return v * std::fabs(v); })},
      {"heavy", mapped(gaussian(30001), [](float v) { return v * v * v; })},
      {"uniform", noise({30001})},
      {"shifted", mapped(gaussian(30001), [](float v) { return v + 3; })},
  };
}

/// Counts magnitudes in bins of a power of two, the largest in the upper half
/// of 4096 bins (docs/guides/calibration.md).
struct Histogram {
  double width;
  std::vector<double> counts;
};

Histogram histogram_of(const Tensor& x) {
  double top = 0;
  for (const float v : x.f32()) top = std::max(top, double{std::fabs(v)});
  double width = 1;
  while (top / width >= 4096) width *= 2;
  while (top / width < 2048) width /= 2;
  Histogram result{width, {}};
  result.counts.resize(static_cast<size_t>(top / width) + 1);
  for (const float v : x.f32()) {
    ++result.counts[static_cast<size_t>(std::fabs(double{v}) / width)];
  }
  return result;
}

/// KL(P||Q) by its definition, element by element.
double direct_divergence(const std::vector<double>& counts, size_t bins,
                         size_t levels) {
  std::vector<double> p(counts.begin(),
                        counts.begin() + static_cast<std::ptrdiff_t>(bins));
  std::vector<double> group(levels, 0.0);
  std::vector<double> occupied(levels, 0.0);
  for (size_t j = 0; j < bins; ++j) {
    group[j * levels / bins] += counts[j];
    occupied[j * levels / bins] += counts[j] > 0 ? 1 : 0;
  }
  std::vector<double> q(bins, 0.0);
  for (size_t j = 0; j < bins; ++j) {
    const size_t g = j * levels / bins;
    if (counts[j] > 0) q[j] = group[g] / occupied[g];
  }
  for (size_t j = bins; j < counts.size(); ++j) p[bins - 1] += counts[j];
  double inside = 0;
  for (const double n : q) inside += n;
  if (inside == 0) return std::numeric_limits<double>::infinity();
  for (size_t j = 0; j < bins; ++j) {
    if (p[j] > 0 && q[j] == 0) q[j] = 1e-4;
  }
  double all_p = 0;
  double all_q = 0;
  for (const double n : p) all_p += n;
  for (const double n : q) all_q += n;
  double sum = 0;
  for (size_t j = 0; j < bins; ++j) {
    if (p[j] > 0)
      sum += p[j] / all_p * std::log((p[j] / all_p) / (q[j] / all_q));
  }
  return sum;
}

TEST(Entropy, GivesTheRangeOfTheLeastDivergenceByItsDefinition) {
  for (const Sample& sample : distributions()) {
    for (const int high : {127, 15, 7}) {
      SCOPED_TRACE(::testing::Message()
                   << sample.name << ", codes to " << high);
      Histogram h = histogram_of(sample.values);
      h.counts[0] = h.counts[1];
      double least = std::numeric_limits<double>::infinity();
      const auto levels = static_cast<size_t>(high + 1);
      // The definition is slow: every third range, and the largest ones.
      const size_t all = h.counts.size();
      for (size_t bins = levels; bins <= all; bins += bins + 50 < all ? 3 : 1) {
        least = std::min(least, direct_divergence(h.counts, bins, levels));
      }
      const float range = range_of(Calibration::entropy, {sample.values}, high);
      const auto chosen = static_cast<size_t>(std::ceil(range / h.width));
      EXPECT_LE(direct_divergence(h.counts, chosen, levels), least + 1e-12);
    }
  }
}

// The divergence of every range follows the definition: three counts far apart
// decide.
TEST(Entropy, TakesTheLargestOfEqualRanges) {
  // A single value: every range that contains it is exact.
  EXPECT_EQ(range_of(Calibration::entropy, {Tensor::full({9}, 2.7f)}), 2.7f);
}

TEST(Entropy, GivesTheMaximumOfUniformData) {
  // Sixteen values in each of 4096 bins.
  Tensor x(Shape{1 << 16});
  for (int64_t i = 0; i < x.size(); ++i) {
    x.f32()[static_cast<size_t>(i)] =
        (static_cast<float>(i) + 0.5f) / (1 << 14);
  }
  const float top = absmax(x);
  for (const Calibration method : {Calibration::entropy, Calibration::max}) {
    EXPECT_EQ(range_of(method, {x}), top);
  }
  for (const float share : {99.9f, 99.99f, 99.999f}) {
    const auto o =
        make_observer({.method = Calibration::percentile, .percentile = share});
    o->observe(x);
    EXPECT_NEAR(*o->range(), top, top / 256);
  }
}

TEST(Entropy, IgnoresAnOutlierAt100Sigma) {
  Tensor x = gaussian(100000);
  x.f32()[77] = -100;
  for (const Calibration method :
       {Calibration::entropy, Calibration::percentile}) {
    EXPECT_GT(range_of(method, {x}), 2.5f);
    EXPECT_LT(range_of(method, {x}), 6.0f);
  }
  EXPECT_EQ(range_of(Calibration::max, {x}), 100.0f);
}

/// Mean square error of values quantized with a range.
double square_error(const Tensor& x, float range, int high) {
  const float scale = range / static_cast<float>(high);
  double error = 0;
  for (const float v : x.f32()) {
    const double e =
        double{rounded_to(std::fabs(v), scale, 0, high)} - std::fabs(v);
    error += e * e;
  }
  return error;
}

TEST(Mse, GivesNearlyTheLeastErrorOfAllRanges) {
  for (const Sample& sample : distributions()) {
    for (const int high : {127, 15, 7, 1}) {
      SCOPED_TRACE(::testing::Message()
                   << sample.name << ", codes to " << high);
      const float top = absmax(sample.values);
      double least = std::numeric_limits<double>::infinity();
      for (int i = 1; i <= 500; ++i) {
        const float range = top * static_cast<float>(i) / 500;
        least = std::min(least, square_error(sample.values, range, high));
      }
      const float range = range_of(Calibration::mse, {sample.values}, high);
      // The histogram represents all values of a bin by its center.
      EXPECT_LE(square_error(sample.values, range, high), least * 1.002);
    }
  }
}

// Reference: the integral of the square error over the normal density.
TEST(Mse, IsNearTheOptimalStepOfANormalDistribution) {
  const auto error = [](double step) {
    double sum = 0;
    for (double x = 0.0005; x < 8; x += 0.001) {
      const double e = std::min(std::nearbyint(x / step), 7.0) * step - x;
      sum += e * e * std::exp(-x * x / 2);
    }
    return sum;
  };
  double best = 0.1;
  for (double step = 0.1; step < 1; step += 0.001) {
    if (error(step) < error(best)) best = step;
  }
  const float range = range_of(Calibration::mse, {gaussian(200000)}, 7);
  EXPECT_NEAR(range / 7, best, 0.02 * best);
}

TEST(Calibrators, AreIndependentOfTheBatchSizeBitForBit) {
  Tensor x = mapped(gaussian(5000), [](float v) { return v * v * v; });
  for (int64_t i = 0; i < 300; ++i) x.f32()[static_cast<size_t>(i)] = 0;
  for (const Calibration method : kOfAllBatches) {
    const float whole = range_of(method, {x});
    for (const int64_t size : {int64_t{1}, int64_t{7}, int64_t{999}}) {
      std::vector<Tensor> batches;
      std::vector<Tensor> backwards;
      for (int64_t at = 0; at < x.size(); at += size) {
        batches.push_back(x.slice(at, std::min(size, x.size() - at)));
        backwards.insert(backwards.begin(), batches.back());
      }
      EXPECT_EQ(range_of(method, batches), whole) << size;
      EXPECT_EQ(range_of(method, backwards), whole) << size;
    }
  }
}

TEST(Calibrators, AreIndependentOfThreadsAndBatchSize) {
  const ThreadCountGuard restored;
  for (const Calibration method : kOfAllBatches) {
    const auto run = [&](int threads, int64_t batch_size) {
      set_num_threads(threads);
      Model model = quantize_model(quickstart());
      calibrate(model, samples(41, {8, 6, 1}),
                {.method = method, .batch_size = batch_size});
      return scales(model);
    };
    const auto expected = run(1, 41);
    EXPECT_EQ(run(3, 41), expected);
    EXPECT_EQ(run(2, 1), expected);
    EXPECT_EQ(run(3, 7), expected);
  }
}

TEST(Calibrators, ResumeFromTheirState) {
  const Tensor first = gaussian(500, 1);
  const Tensor second = mapped(gaussian(500, 2), [](float v) { return 9 * v; });
  for (const Calibration method :
       {Calibration::max, Calibration::ema, Calibration::percentile,
        Calibration::last_value, Calibration::mse, Calibration::entropy}) {
    for (const Tensor& before : {first, Tensor::zeros({30})}) {
      const auto one = make_observer({.method = method});
      const auto other = make_observer({.method = method});
      one->observe(before);
      other->restore(one->state());
      EXPECT_EQ(other->range(), one->range());
      one->observe(second);
      other->observe(second);
      EXPECT_EQ(other->range(), one->range());
    }
  }
}

TEST(Calibrators, RefuseAnInvalidHistogram) {
  const auto o = make_observer({.method = Calibration::mse});
  o->observe(Tensor::full({4}, 2));
  const Config state = o->state();
  for (const Config& bad :
       {Config(state).set("zeros", int64_t{3}), Config(state).set("top", 0.0),
        Config(state).set("bins", Config::List{int64_t{4096}, int64_t{1}})}) {
    EXPECT_THROW(o->restore(bad), ValueError);
    EXPECT_EQ(o->range(), 2.0f);
  }
}

TEST(LastValue, IsTheRangeOfTheLastBatch) {
  EXPECT_EQ(range_of(Calibration::last_value,
                     {Tensor::full({3}, 9), Tensor::full({2}, -4)}),
            4.0f);
}

TEST(CalibrateOnData, RefusesConstantData) {
  for (const float value : {0.0f, 1.0f}) {
    Model model = quantize_model(quickstart());
    const Dataset constant(Tensor::full({5, 8, 6, 1}, value),
                           Tensor::zeros({5}, DType::i64));
    EXPECT_EQ(failure_of<ValueError>([&] { calibrate(model, constant); }),
              (Failure{"invalid_value", "input 'image'"}));
    EXPECT_FALSE(quantizer(model, "image")->calibrated());
  }
}

TEST(CalibrateOnData, RefusesDataWithoutSamples) {
  Model model = quantize_model(quickstart());
  const Dataset none(Tensor(Shape{0, 8, 6, 1}), Tensor({0}, DType::i64));
  EXPECT_THROW(calibrate(model, none), ValueError);
}

/// Square error of a weight quantized with the given per-channel (last axis)
/// scales.
double weight_error(const Tensor& w, std::span<const float> scales, int high) {
  double error = 0;
  for (int64_t i = 0; i < w.size(); ++i) {
    const float v = w.f32()[static_cast<size_t>(i)];
    const float s = scales[static_cast<size_t>(i) % scales.size()];
    const double e = double{rounded_to(v, s, -high, high)} - v;
    error += e * e;
  }
  return error;
}

TEST(CalibrateWeights, ByMseIsNearTheLeastErrorOfEachChannel) {
  for (const int bits : {8, 4, 2}) {
    Model model = quantize_model(
        quickstart(),
        {.weight = {.bits = bits, .narrow_range = true, .per_channel = true}});
    const Tensor kernel =
        mapped(model.layer("quant_dense").parameter("kernel").variable.value(),
               [](float v) { return v * v * v; });
    model.layer("quant_dense").parameter("kernel").variable.assign(kernel);
    calibrate(model, samples(10, {8, 6, 1}), {.weights = WeightRange::mse});
    const auto scales = quantizer(model, "dense/kernel")->scales();
    const int high = (1 << (bits - 1)) - 1;
    const Tensor tops = absmax_per_channel(kernel, -1);
    std::vector<float> best(scales.begin(), scales.end());
    for (size_t c = 0; c < best.size(); ++c) {
      double least = std::numeric_limits<double>::infinity();
      float found = 0;
      for (int i = 100; i <= 2000; ++i) {
        best[c] = tops.f32()[c] * static_cast<float>(i) / 2000 /
                  static_cast<float>(high);
        const double error = weight_error(kernel, best, high);
        if (error < least) found = best[c];
        least = std::min(least, error);
      }
      best[c] = found;
    }
    EXPECT_LE(weight_error(kernel, scales, high),
              1.01 * weight_error(kernel, best, high))
        << bits;
  }
}

TEST(CalibrateWeights, KeepsExistingScalesUnlessARuleIsGiven) {
  const QuantizerConfig weight{
      .bits = 4, .narrow_range = true, .per_channel = true};
  Model model = quantize_model(quickstart(), {.weight = weight});
  const auto given = [&] { return quantizer(model, "dense/kernel")->scales(); };
  const Dataset data = samples(10, {8, 6, 1});
  calibrate(model, data);
  const std::vector<float> by_max = given();
  calibrate(model, data, {.weights = WeightRange::mse});
  const std::vector<float> by_mse = given();
  EXPECT_NE(by_mse, by_max);
  calibrate(model, data);
  EXPECT_EQ(given(), by_mse);
  calibrate(model, data, {.weights = WeightRange::max});
  EXPECT_EQ(given(), by_max);
}

TEST(CalibrateWeights, WarnsThatLiveScalesAreUnchanged) {
  const WarningCapture warnings;
  Model model = quantize_model(quickstart());
  calibrate(model, samples(10, {8, 6, 1}), {.weights = WeightRange::mse});
  ASSERT_THAT(warnings.messages,
              ElementsAre(Failure{"option_ignored", "calibrate"}));
  EXPECT_THAT(quoted_names(warnings.messages[0].text()),
              ElementsAre("conv2d/kernel"));
}

}  // namespace
}  // namespace octet::quant
