#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>
#include <octet/runtime/system.h>

#include "../support.h"
#include "every_isa.h"

namespace octet {
namespace {

using ::testing::ElementsAre;

struct Function {
  const char* name;
  Variable (*apply)(const Variable& x);
  double (*exact)(double x);
  float at_low, at_high;  // the limits at -infinity and infinity
  // Relative to double precision: the last bit is up to 1.2e-7, and these are
  // sums of the roundings of the steps. The tail of the normal distribution
  // uses a polynomial of degree nine.
  double tolerance;
};

double logistic(double x) {
  return x < 0 ? std::exp(x) / (1 + std::exp(x)) : 1 / (1 + std::exp(-x));
}

const Function kFunctions[] = {
    {"exponential", exponential, [](double x) { return std::exp(x); }, 0,
     INFINITY, 1.5e-7},
    {"sigmoid", sigmoid, logistic, 0, 1, 2e-7},
    {"tanh", tanh, [](double x) { return std::tanh(x); }, -1, 1, 2e-7},
    {"swish", swish, [](double x) { return x * logistic(x); }, 0, INFINITY,
     2.5e-7},
    {"gelu", [](const Variable& x) { return gelu(x); },
     [](double x) { return x * std::erfc(-x / std::sqrt(2.0)) / 2; }, 0,
     INFINITY, 6e-7},
    {"elu", [](const Variable& x) { return elu(x); },
     [](double x) { return x > 0 ? x : std::expm1(x); }, -1, INFINITY, 1.5e-7},
    {"softplus", softplus,
     [](double x) {
       return std::max(x, 0.0) + std::log1p(std::exp(-std::fabs(x)));
     },
     0, INFINITY, 2.5e-7},
    {"softsign", softsign, [](double x) { return x / (1 + std::fabs(x)); }, -1,
     1, 2e-7},
    {"hard_sigmoid", hard_sigmoid,
     [](double x) { return std::clamp(x + 3, 0.0, 6.0) / 6; }, 0, 1, 2e-7},
    {"hard_swish", hard_swish,
     [](double x) { return x * (std::clamp(x + 3, 0.0, 6.0) / 6); }, 0,
     INFINITY, 2e-7},
};

class ActivationOnEveryIsa : public EveryIsa {};

INSTANTIATE_TEST_SUITE_P(Isa, ActivationOnEveryIsa, every_isa(), isa_name);

TEST_P(ActivationOnEveryIsa, AgreesWithDoublesFromTinyToLarge) {
  // An odd count, to cover values beyond the last vector.
  constexpr int64_t kCount = 20001;
  for (const Function& f : kFunctions) {
    SCOPED_TRACE(f.name);
    for (const float range : {1e-4f, 0.5f, 4.0f, 80.0f}) {
      Tensor x({kCount});
      for (int64_t i = 0; i < kCount; ++i) {
        x.f32()[static_cast<size_t>(i)] =
            range * (2 * static_cast<float>(i) / kCount - 1);
      }
      const Tensor y = f.apply(x).value();
      double worst = 0;
      for (size_t i = 0; i < kCount; ++i) {
        const double exact = f.exact(x.f32()[i]);
        // Subnormal numbers have fewer digits, and so do products with them.
        if (std::fabs(exact) < 1e-36) continue;
        // x + 3 is rounded, which dominates near -3.
        const bool cancels = std::fabs(x.f32()[i] + 3) < 0.5f &&
                             std::string(f.name).starts_with("hard");
        if (cancels) continue;
        worst = std::max(worst, std::fabs(y.f32()[i] / exact - 1));
      }
      EXPECT_LE(worst, f.tolerance) << "range " << range;
    }
  }
}

TEST_P(ActivationOnEveryIsa, ApproachesItsLimitsAndPropagatesNan) {
  for (const Function& f : kFunctions) {
    SCOPED_TRACE(f.name);
    for (const float large : {1e4f, 3e38f, INFINITY}) {
      const Variable x(Tensor::of<float>({3}, {-large, large, NAN}), true);
      const Variable y = f.apply(x);
      // softsign converges slowly.
      EXPECT_NEAR(y.value().f32()[0], f.at_low, 2e-4) << large;
      const float top = y.value().f32()[1];
      if (std::isinf(f.at_high)) {
        EXPECT_GE(top, large);
      } else {
        EXPECT_NEAR(top, f.at_high, 2e-4) << large;
      }
      EXPECT_TRUE(std::isnan(y.value().f32()[2]));
      sum(y).backward();
      EXPECT_NEAR(x.grad().f32()[0], 0, 1e-6) << large;
      EXPECT_FALSE(std::isnan(x.grad().f32()[1])) << large;
    }
  }
}

TEST_P(ActivationOnEveryIsa, MatchesBetweenVectorsAndRemainders) {
  for (const Function& f : kFunctions) {
    SCOPED_TRACE(f.name);
    Tensor x({64});
    for (size_t i = 0; i < 64; ++i) {
      x.f32()[i] = 0.37f * static_cast<float>(i) - 12;
    }
    const Tensor y = f.apply(x).value();
    for (int64_t i = 0; i < 64; ++i) {
      EXPECT_EQ(f.apply(x.slice(i, 1)).value().item(),
                y.f32()[static_cast<size_t>(i)])
          << i;
    }
  }
}

TEST(Relu, HasSlopeThresholdAndMaximum) {
  const Variable x(
      Tensor::of<float>({6}, {-INFINITY, -2, 1, 1.5f, 5, INFINITY}), true);
  const ReluOptions options{
      .max_value = 4, .negative_slope = 0.5f, .threshold = 1};
  EXPECT_THAT(values(relu(x, options)),
              ElementsAre(-INFINITY, -1.5f, 0, 1.5f, 4, 4));
  sum(relu(x, options)).backward();
  EXPECT_THAT(std::vector<float>(x.grad().f32().begin(), x.grad().f32().end()),
              ElementsAre(0.5f, 0.5f, 0.5f, 1, 0, 0));
}

TEST(Relu, IsZeroBelowTheThresholdWithoutSlope) {
  const Variable x(Tensor::of<float>({4}, {-INFINITY, 1, 1.5f, NAN}));
  const auto y = values(relu(x, {.threshold = 1}));
  EXPECT_EQ(y[0], 0);
  EXPECT_EQ(y[1], 0);
  EXPECT_EQ(y[2], 1.5f);
  EXPECT_TRUE(std::isnan(y[3]));
}

TEST(Relu, RejectsInvalidOptions) {
  const Variable x(Tensor::zeros({1}));
  EXPECT_EQ(failure_of<ValueError>([&] { (void)relu(x, {.max_value = 0}); }),
            (Failure{"out_of_range", "relu"}));
  EXPECT_EQ(
      failure_of<ValueError>([&] { (void)relu(x, {.negative_slope = NAN}); }),
      (Failure{"not_finite", "relu"}));
  EXPECT_EQ(
      failure_of<ValueError>([&] { (void)relu(x, {.threshold = INFINITY}); }),
      (Failure{"not_finite", "relu"}));
  EXPECT_EQ(failure_of<ValueError>([&] { (void)elu(x, INFINITY); }),
            (Failure{"not_finite", "elu"}));
}

TEST(Prelu, BroadcastsTheSlopeToTheInput) {
  const Variable x(Tensor::of<float>({2, 2}, {-1, -1, 1, 0}));
  const Variable alpha(Tensor::of<float>({2}, {0.5f, 2}));
  EXPECT_THAT(values(prelu(x, alpha)), ElementsAre(-0.5f, -2, 1, 0));
  EXPECT_EQ(failure_of<ShapeError>([&] { (void)prelu(alpha, x); }),
            (Failure{"shape_mismatch", "prelu"}));
  EXPECT_EQ(failure_of<ShapeError>(
                [&] { (void)prelu(x, Variable(Tensor::zeros({3}))); }),
            (Failure{"shape_mismatch", "prelu"}));
}

TEST(Selu, PreservesAStandardNormalDistribution) {
  // Its constants make mean 0 and variance 1 a fixed point.
  double mean = 0;
  double square = 0;
  constexpr int64_t kCount = 100000;
  Tensor x({kCount});
  for (size_t i = 0; i < kCount; ++i) {
    x.f32()[i] = (static_cast<float>(i) + 0.5f) / kCount * 16 - 8;
  }
  const Tensor y = selu(x);
  for (size_t i = 0; i < kCount; ++i) {
    const double v = x.f32()[i];
    const double density =
        std::exp(-v * v / 2) / std::sqrt(2 * std::numbers::pi);
    mean += y.f32()[i] * density * 16 / kCount;
    square += double{y.f32()[i]} * y.f32()[i] * density * 16 / kCount;
  }
  // Sums of 1e5 floats with errors of 1e-7 each.
  EXPECT_NEAR(mean, 0, 1e-5);
  EXPECT_NEAR(square, 1, 1e-5);
}

}  // namespace
}  // namespace octet
