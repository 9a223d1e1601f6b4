#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include <octet/runtime/error.h>
#include <octet/train/optimizer.h>

#include "gradients.h"

namespace octet::train {
namespace {

TEST(Rmsprop, DividesByTheRootOfTheMeanSquare) {
  const Variable w = parameter({1.0f, 1.0f});
  RMSprop rmsprop({.learning_rate = 0.5f, .rho = 0.75f, .epsilon = 1e-12f});
  rmsprop.attach({w});
  give_gradient(w, {3.0f, -1e-3f});
  rmsprop.step();
  // g / sqrt(0.25 * g^2) is 2 for any g; epsilon is 4e-6 of the smaller mean
  // square.
  EXPECT_FLOAT_EQ(values(w)[0], 0.0f + 1.0f - 0.5f * 2.0f);
  EXPECT_NEAR(values(w)[1], 2.0f, 1e-5);
}

TEST(Rmsprop, SubtractsTheMeanWhenCentered) {
  const Variable w = parameter({0.0f});
  RMSprop rmsprop({.learning_rate = 1.0f,
                   .rho = 0.5f,
                   .epsilon = 1e-12f,
                   .centered = true});
  rmsprop.attach({w});
  give_gradient(w, {2.0f});
  rmsprop.step();
  // Mean square 2, mean 1: 2 / sqrt(2 - 1).
  EXPECT_FLOAT_EQ(values(w)[0], -2.0f);
}

TEST(Rmsprop, DoesNotChangeAWeightWithZeroGradient) {
  const Variable w = parameter({7.0f});
  RMSprop rmsprop({.momentum = 0.5f, .centered = true});
  rmsprop.attach({w});
  for (int step = 0; step < 3; ++step) {
    give_gradient(w, {0.0f});
    rmsprop.step();
  }
  EXPECT_EQ(values(w)[0], 7.0f);
}

TEST(Rmsprop, RejectsOptionsOutOfRange) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_NO_THROW(RMSprop({.rho = 0.0f}));
  EXPECT_THROW(RMSprop({.learning_rate = -1.0f}), ValueError);
  EXPECT_THROW(RMSprop({.rho = 1.0f}), ValueError);
  EXPECT_THROW(RMSprop({.momentum = nan}), ValueError);
  EXPECT_THROW(RMSprop({.epsilon = 0.0f}), ValueError);
  EXPECT_THROW(RMSprop({.weight_decay = -1.0f}), ValueError);
}

TEST(Rmsprop, StaysFiniteForConstantGradients) {
  // The mean of squares minus the square of the mean is then a rounding error,
  // for 3.3 below -epsilon at step 136.
  for (const float gradient : {3.3f, 123.4f}) {
    const Variable w = parameter({0.0f});
    RMSprop rmsprop({.centered = true});
    rmsprop.attach({w});
    for (int step = 0; step < 300; ++step) {
      give_gradient(w, {gradient});
      rmsprop.step();
    }
    EXPECT_TRUE(std::isfinite(values(w)[0])) << gradient;
  }
}

}  // namespace
}  // namespace octet::train
