#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include <octet/runtime/error.h>
#include <octet/train/optimizer.h>

#include "gradients.h"

namespace octet::train {
namespace {

const std::vector<std::vector<float>> kGradients = {
    {1.0f, -2.0f, 0.0f, 1e-8f},
    {0.5f, 3.0f, 0.0f, -1e-3f},
    {-0.25f, 0.125f, 0.0f, 1e3f},
    {4.0f, -0.5f, 0.0f, 1.0f},
};
const std::vector<float> kStart = {1.0f, -1.0f, 5.0f, 0.0f};

std::vector<float> run(const AdamOptions& options) {
  const Variable w = parameter(kStart);
  Adam adam(options);
  adam.attach({w});
  for (const auto& gradient : kGradients) {
    give_gradient(w, gradient);
    adam.step();
  }
  return values(w);
}

/// Closed form: the moments as weighted sums over all gradients, in double.
std::vector<double> closed_form(const AdamOptions& options) {
  const double beta1 = options.beta1;
  const double beta2 = options.beta2;
  std::vector<double> w(kStart.begin(), kStart.end());
  for (size_t i = 0; i < w.size(); ++i) {
    for (size_t t = 1; t <= kGradients.size(); ++t) {
      double m = 0;
      double v = 0;
      for (size_t s = 1; s <= t; ++s) {
        const double g = kGradients[s - 1][i];
        const auto age = static_cast<double>(t - s);
        m += (1 - beta1) * std::pow(beta1, age) * g;
        v += (1 - beta2) * std::pow(beta2, age) * g * g;
      }
      const auto steps = static_cast<double>(t);
      const double rate = options.learning_rate *
                          std::sqrt(1 - std::pow(beta2, steps)) /
                          (1 - std::pow(beta1, steps));
      w[i] -= rate * m / (std::sqrt(v) + double{options.epsilon});
    }
  }
  return w;
}

void expect_close(const std::vector<float>& got,
                  const std::vector<double>& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) {
    // Each step has a relative error of a few roundings of f32, and rounds the
    // weight once.
    EXPECT_NEAR(got[i], expected[i], 1e-6 * (1 + std::abs(expected[i])))
        << "element " << i;
  }
}

TEST(Adam, MatchesTheClosedForm) {
  const AdamOptions options{.learning_rate = 0.1f};
  expect_close(run(options), closed_form(options));
}

TEST(Adam, MatchesTheClosedFormWithOtherBetasAndEpsilon) {
  const AdamOptions options{
      .learning_rate = 0.01f, .beta1 = 0.5f, .beta2 = 0.9f, .epsilon = 0.1f};
  expect_close(run(options), closed_form(options));
}

TEST(Adam, MatchesTheClosedFormWithZeroBetas) {
  const AdamOptions options{
      .learning_rate = 0.01f, .beta1 = 0.0f, .beta2 = 0.0f};
  expect_close(run(options), closed_form(options));
}

TEST(Adam, FirstStepEqualsTheLearningRateForAnyGradient) {
  const Variable w = parameter({0.0f, 0.0f, 0.0f});
  Adam adam({.learning_rate = 0.25f});
  adam.attach({w});
  give_gradient(w, {1e-2f, -1.0f, 1e6f});
  adam.step();
  // Epsilon reduces the smallest step by 1e-7 / (sqrt(1 - beta2) * 1e-2), 3e-4.
  EXPECT_NEAR(values(w)[0], -0.25f, 1e-4);
  EXPECT_NEAR(values(w)[1], 0.25f, 1e-6);
  EXPECT_NEAR(values(w)[2], -0.25f, 1e-6);
}

TEST(Adam, DoesNotChangeAWeightWithZeroGradient) {
  EXPECT_EQ(run({.learning_rate = 0.1f})[2], kStart[2]);
}

TEST(Adam, StepsStayFiniteAfterManySteps) {
  const Variable w = parameter({0.0f});
  Adam adam({.learning_rate = 1e-3f});
  adam.attach({w});
  for (int step = 0; step < 2000; ++step) {
    give_gradient(w, {2.0f});
    adam.step();
  }
  // For a constant gradient every step equals the rate, as m/sqrt(v) is 1.
  EXPECT_NEAR(values(w)[0], -2.0f, 1e-3);
}

TEST(Adam, RejectsOptionsOutOfRange) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float inf = std::numeric_limits<float>::infinity();
  EXPECT_NO_THROW(Adam({.learning_rate = 0.0f}));
  EXPECT_THROW(Adam({.learning_rate = -1e-3f}), ValueError);
  EXPECT_THROW(Adam({.learning_rate = nan}), ValueError);
  EXPECT_THROW(Adam({.beta1 = 1.0f}), ValueError);
  EXPECT_THROW(Adam({.beta1 = -0.1f}), ValueError);
  EXPECT_THROW(Adam({.beta2 = 1.0f}), ValueError);
  EXPECT_THROW(Adam({.beta2 = nan}), ValueError);
  EXPECT_THROW(Adam({.epsilon = 0.0f}), ValueError);
  EXPECT_THROW(Adam({.epsilon = -1e-7f}), ValueError);
  EXPECT_THROW(Adam({.epsilon = inf}), ValueError);
}

}  // namespace
}  // namespace octet::train
