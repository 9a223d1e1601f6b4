#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include <octet/runtime/error.h>
#include <octet/train/clip.h>

#include "gradients.h"

namespace octet::train {
namespace {

std::vector<float> gradient_of(const Variable& variable) {
  const Tensor& gradient = variable.grad();
  return {gradient.f32().begin(), gradient.f32().end()};
}

TEST(ClipByNorm, ScalesAllGradientsTogether) {
  const std::vector<Variable> w = {parameter({0, 0}), parameter({0}),
                                   parameter({0})};
  give_gradient(w[0], {2, -4});
  give_gradient(w[1], {4});
  // sqrt(4 + 16 + 16) = 6; the third has no gradient.
  EXPECT_EQ(clip_gradients_by_norm(w, 3), 6.0);
  EXPECT_EQ(gradient_of(w[0]), (std::vector<float>{1, -2}));
  EXPECT_EQ(gradient_of(w[1]), (std::vector<float>{2}));
  EXPECT_TRUE(w[2].grad().empty());
}

TEST(ClipByNorm, LeavesGradientsWithinTheLimit) {
  const std::vector<Variable> w = {parameter({0, 0})};
  give_gradient(w[0], {3, 4});
  EXPECT_EQ(clip_gradients_by_norm(w, 5), 5.0);
  EXPECT_EQ(gradient_of(w[0]), (std::vector<float>{3, 4}));
}

TEST(ClipByNorm, TellsANormThatIsNotFiniteAndChangesNothing) {
  const std::vector<Variable> w = {parameter({0, 0})};
  give_gradient(w[0], {std::numeric_limits<float>::infinity(), 4});
  EXPECT_TRUE(std::isinf(clip_gradients_by_norm(w, 1)));
  EXPECT_EQ(gradient_of(w[0])[1], 4.0f);
}

TEST(ClipByNorm, IsZeroWithoutGradients) {
  const std::vector<Variable> w = {parameter({0})};
  EXPECT_EQ(clip_gradients_by_norm(w, 1), 0.0);
  EXPECT_EQ(clip_gradients_by_norm({}, 1), 0.0);
}

TEST(ClipByNorm, DoesNotOverflowOnLargeGradients) {
  const std::vector<Variable> w = {parameter({0, 0})};
  give_gradient(w[0], {3e38f, 0});
  EXPECT_FLOAT_EQ(static_cast<float>(clip_gradients_by_norm(w, 1)), 3e38f);
  EXPECT_FLOAT_EQ(gradient_of(w[0])[0], 1.0f);
}

TEST(ClipByValue, MovesEachGradientIntoTheLimits) {
  const std::vector<Variable> w = {parameter({0, 0, 0, 0})};
  give_gradient(w[0], {2, -4, 0.5f, std::numeric_limits<float>::quiet_NaN()});
  clip_gradients_by_value(w, 1);
  const std::vector<float> got = gradient_of(w[0]);
  EXPECT_EQ(got[0], 1.0f);
  EXPECT_EQ(got[1], -1.0f);
  EXPECT_EQ(got[2], 0.5f);
  EXPECT_TRUE(std::isnan(got[3]));
}

TEST(Clip, RefusesLimitsThatAreNotFiniteAndAboveZero) {
  for (const float limit : {0.0f, -1.0f, std::numeric_limits<float>::infinity(),
                            std::numeric_limits<float>::quiet_NaN()}) {
    EXPECT_THROW(clip_gradients_by_norm({}, limit), ValueError);
    EXPECT_THROW(clip_gradients_by_value({}, limit), ValueError);
  }
}

}  // namespace
}  // namespace octet::train
