#include <cmath>
#include <limits>
#include <memory>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>
#include <octet/train/train.h>

#include "../support.h"
#include "blobs.h"
#include "gradients.h"
#include "weights.h"

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
  // sqrt(4 + 16 + 16) = 6; the third parameter has no gradient.
  EXPECT_EQ(clip_gradients_by_norm(w, 3), 6.0);
  EXPECT_EQ(gradient_of(w[0]), (std::vector<float>{1, -2}));
  EXPECT_EQ(gradient_of(w[1]), (std::vector<float>{2}));
  EXPECT_TRUE(w[2].grad().empty());
}

TEST(ClipByNorm, DoesNotChangeGradientsWithinTheLimit) {
  const std::vector<Variable> w = {parameter({0, 0})};
  give_gradient(w[0], {3, 4});
  EXPECT_EQ(clip_gradients_by_norm(w, 5), 5.0);
  EXPECT_EQ(gradient_of(w[0]), (std::vector<float>{3, 4}));
}

TEST(ClipByNorm, ReturnsANormThatIsNotFiniteWithoutClipping) {
  const std::vector<Variable> w = {parameter({0, 0})};
  give_gradient(w[0], {std::numeric_limits<float>::infinity(), 4});
  EXPECT_TRUE(std::isinf(clip_gradients_by_norm(w, 1)));
  EXPECT_EQ(gradient_of(w[0])[1], 4.0f);
}

TEST(Clip, RejectsParametersWithoutGradients) {
  const std::vector<Variable> w = {parameter({0}), parameter({1})};
  EXPECT_EQ(failure_of<ValueError>([&] { (void)clip_gradients_by_norm(w, 1); }),
            (Failure{"no_gradient", "clip_gradients_by_norm"}));
  EXPECT_THROW(clip_gradients_by_value(w, 1), ValueError);
  EXPECT_EQ(gradient_norm(w), 0.0);
  EXPECT_EQ(clip_gradients_by_norm({}, 1), 0.0);
}

TEST(ClipByNorm, DoesNotOverflowOnLargeGradients) {
  const std::vector<Variable> w = {parameter({0, 0})};
  give_gradient(w[0], {3e38f, 0});
  EXPECT_FLOAT_EQ(static_cast<float>(clip_gradients_by_norm(w, 1)), 3e38f);
  EXPECT_FLOAT_EQ(gradient_of(w[0])[0], 1.0f);
}

TEST(ClipByValue, ClampsEachGradient) {
  const std::vector<Variable> w = {parameter({0, 0, 0, 0})};
  give_gradient(w[0], {2, -4, 0.5f, std::numeric_limits<float>::quiet_NaN()});
  clip_gradients_by_value(w, 1);
  const std::vector<float> got = gradient_of(w[0]);
  EXPECT_EQ(got[0], 1.0f);
  EXPECT_EQ(got[1], -1.0f);
  EXPECT_EQ(got[2], 0.5f);
  EXPECT_TRUE(std::isnan(got[3]));
}

TEST(Clip, RejectsLimitsThatAreNotFiniteAndPositive) {
  for (const float limit : {0.0f, -1.0f, std::numeric_limits<float>::infinity(),
                            std::numeric_limits<float>::quiet_NaN()}) {
    EXPECT_THROW(clip_gradients_by_norm({}, limit), ValueError);
    EXPECT_THROW(clip_gradients_by_value({}, limit), ValueError);
  }
}

/// Records "gradient_norm" of each epoch.
class Norms final : public Callback {
 public:
  void on_epoch_end(const Progress& progress) override {
    for (const auto& [name, value] : progress.logs()) {
      if (name == "gradient_norm") logged.push_back(value);
    }
  }
  std::vector<double> logged;
};

TEST(GradientNorm, IsLoggedAsTheMeanOverSteps) {
  const Dataset data = blobs(40);
  const auto norms = std::make_shared<Norms>();
  Model model = small_network();
  const History history = fit(model, data,
                              {.epochs = 1,
                               .batch_size = 20,
                               .optimizer = SGD({.learning_rate = 0.1f}),
                               .seed = 3,
                               .callbacks = {norms},
                               .verbose = false,
                               .clip_norm = 0.01f,
                               .gradient_norm = true});
  // Reference: the same two steps with clipping, by hand.
  Model other = small_network();
  Optimizer optimizer = SGD({.learning_rate = 0.1f});
  optimizer.attach(other.trainable_variables());
  double sum = 0;
  for (const Batch& batch : EpochLoader(data, {.batch_size = 20, .seed = 3})) {
    softmax_cross_entropy(other(batch.input(), Mode::training), batch.label())
        .backward();
    sum += clip_gradients_by_norm(other.trainable_variables(), 0.01f);
    optimizer.step();
    optimizer.zero_grad();
  }
  ASSERT_EQ(norms->logged.size(), 1u);
  EXPECT_NEAR(norms->logged[0], sum / 2, 1e-6);
  EXPECT_EQ(*history[0].gradient_norm, norms->logged[0]);
  const std::vector<float> ours = weights_of(model), theirs = weights_of(other);
  for (size_t i = 0; i < ours.size(); ++i) {
    EXPECT_NEAR(ours[i], theirs[i], 1e-6);
  }
}

TEST(GradientNorm, CountsStepsNotBatches) {
  const auto run = [](int64_t batch_size, int64_t accumulate) {
    Model model = small_network();
    return *fit(model, blobs(40),
                {.batch_size = batch_size,
                 .verbose = false,
                 .gradient_norm = true,
                 .accumulate = accumulate})[0]
                .gradient_norm;
  };
  EXPECT_NEAR(run(20, 1), run(10, 2), 1e-5);
  Model model = small_network();
  EXPECT_FALSE(
      fit(model, blobs(10), {.verbose = false})[0].gradient_norm.has_value());
}

}  // namespace
}  // namespace octet::train
