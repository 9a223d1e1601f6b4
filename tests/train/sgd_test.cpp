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
    {1.0f, -2.0f, 0.0f, 1e-3f},
    {0.5f, 3.0f, 0.0f, -1e3f},
    {-0.25f, 0.125f, 0.0f, 7.0f},
};
const std::vector<float> kStart = {1.0f, -1.0f, 5.0f, 0.0f};

std::vector<float> run(const SGDOptions& options) {
  const Variable w = parameter(kStart);
  SGD sgd(options);
  sgd.attach({w});
  for (const auto& gradient : kGradients) {
    give_gradient(w, gradient);
    sgd.step();
  }
  return values(w);
}

/// Closed form without a velocity: gradient s contributes momentum^(t-s) times
/// the rate to step t.
std::vector<double> closed_form(double rate, double momentum, bool nesterov) {
  std::vector<double> w(kStart.begin(), kStart.end());
  for (size_t i = 0; i < w.size(); ++i) {
    for (size_t t = 0; t < kGradients.size(); ++t) {
      double velocity = 0;
      for (size_t s = 0; s <= t; ++s) {
        velocity +=
            std::pow(momentum, static_cast<double>(t - s)) * kGradients[s][i];
      }
      w[i] -=
          rate * (nesterov ? kGradients[t][i] + momentum * velocity : velocity);
    }
  }
  return w;
}

void expect_close(const std::vector<float>& got,
                  const std::vector<double>& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) {
    // A dozen roundings of f32 on terms up to 1000 * rate.
    EXPECT_NEAR(got[i], expected[i], 1e-5 * std::abs(expected[i]) + 1e-6)
        << "element " << i;
  }
}

TEST(Sgd, MovesAgainstTheGradient) {
  expect_close(run({.learning_rate = 0.1f}), closed_form(0.1f, 0.0, false));
}

TEST(Sgd, AccumulatesGradientsWithMomentum) {
  expect_close(run({.learning_rate = 0.1f, .momentum = 0.9f}),
               closed_form(0.1f, 0.9f, false));
}

TEST(Sgd, LooksAheadWithNesterov) {
  expect_close(run({.learning_rate = 0.1f, .momentum = 0.9f, .nesterov = true}),
               closed_form(0.1f, 0.9f, true));
}

TEST(Sgd, ContinuesOnMomentumForZeroGradients) {
  const Variable w = parameter({0.0f});
  SGD sgd({.learning_rate = 1.0f, .momentum = 0.5f});
  sgd.attach({w});
  give_gradient(w, {8.0f});
  sgd.step();
  give_gradient(w, {0.0f});
  sgd.step();
  EXPECT_EQ(values(w)[0], -12.0f);
}

TEST(Sgd, DoesNotChangeWeightsAtARateOfZero) {
  EXPECT_EQ(run({.learning_rate = 0.0f, .momentum = 0.9f}), kStart);
}

TEST(Sgd, PropagatesNan) {
  const Variable w = parameter({1.0f, 1.0f});
  SGD sgd({.learning_rate = 1.0f, .momentum = 0.5f});
  sgd.attach({w});
  give_gradient(w, {std::numeric_limits<float>::quiet_NaN(), 1.0f});
  sgd.step();
  EXPECT_TRUE(std::isnan(values(w)[0]));
  EXPECT_EQ(values(w)[1], 0.0f);
}

TEST(Sgd, RejectsOptionsOutOfRange) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float inf = std::numeric_limits<float>::infinity();
  EXPECT_NO_THROW(SGD({.learning_rate = 0.0f}));
  EXPECT_THROW(SGD({.learning_rate = -0.1f}), ValueError);
  EXPECT_THROW(SGD({.learning_rate = nan}), ValueError);
  EXPECT_THROW(SGD({.learning_rate = inf}), ValueError);
  EXPECT_THROW(SGD({.momentum = -0.1f}), ValueError);
  EXPECT_THROW(SGD({.momentum = 1.0f}), ValueError);
  EXPECT_THROW(SGD({.momentum = nan}), ValueError);
  EXPECT_THROW(SGD({.nesterov = true}), ValueError);
}

}  // namespace
}  // namespace octet::train
