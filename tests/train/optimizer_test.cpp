#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include <octet/runtime/error.h>
#include <octet/train/optimizer.h>

#include "gradients.h"

namespace octet::train {
namespace {

/// Adds the rate to its slot and takes it from the value; keeps the steps.
class CountingRule final : public UpdateRule {
 public:
  int slots() const override { return 1; }
  float learning_rate() const override { return 0.5f; }
  void update(std::span<float> value, std::span<const float>,
              std::span<Tensor> slots, float learning_rate,
              int64_t step) const override {
    ASSERT_EQ(slots.size(), 1u);
    slots[0].f32()[0] += static_cast<float>(step);
    value[0] -= learning_rate;
    value[1] = slots[0].f32()[0];
  }
};

Optimizer counting() { return Optimizer(std::make_shared<CountingRule>()); }

TEST(Optimizer, CallsTheRuleWithRateTimesFactorAndStepsFromOne) {
  const Variable w = parameter({10, 0});
  Optimizer optimizer = counting();
  optimizer.attach({w});
  EXPECT_EQ(optimizer.steps(), 0);
  give_gradient(w, {1, 1});
  optimizer.step();
  EXPECT_EQ(values(w), (std::vector<float>{9.5f, 1}));
  give_gradient(w, {1, 1});
  optimizer.step(0.5f);
  EXPECT_EQ(values(w), (std::vector<float>{9.25f, 3}));
  give_gradient(w, {1, 1});
  optimizer.step(0.0f);
  EXPECT_EQ(values(w), (std::vector<float>{9.25f, 6}));
  EXPECT_EQ(optimizer.steps(), 3);
  EXPECT_EQ(optimizer.learning_rate(), 0.5f);
}

TEST(Optimizer, ClearsTheGradientsOfAStep) {
  const Variable w = parameter({0, 0});
  Optimizer optimizer = SGD({.learning_rate = 1.0f});
  optimizer.attach({w});
  give_gradient(w, {1, 2});
  optimizer.step();
  give_gradient(w, {1, 2});
  optimizer.step();
  EXPECT_EQ(values(w), (std::vector<float>{-2, -4}));
}

TEST(Optimizer, UsesTheSumOfGradientsSinceTheLastStep) {
  const Variable w = parameter({0, 0});
  Optimizer optimizer = SGD({.learning_rate = 1.0f});
  optimizer.attach({w});
  give_gradient(w, {1, 2});
  give_gradient(w, {4, 8});
  optimizer.step();
  EXPECT_EQ(values(w), (std::vector<float>{-5, -10}));
}

TEST(Optimizer, LeavesAParameterThatNeverHadAGradient) {
  const Variable moved = parameter({0, 0});
  const Variable still = parameter({7, 7});
  Optimizer optimizer = counting();
  optimizer.attach({moved, still});
  give_gradient(moved, {1, 1});
  optimizer.step();
  EXPECT_EQ(values(still), (std::vector<float>{7, 7}));
  EXPECT_EQ(values(moved), (std::vector<float>{-0.5f, 1}));
}

TEST(Optimizer, StartsAnewWhenItIsAttachedAgain) {
  const Variable w = parameter({0, 0});
  Optimizer optimizer = counting();
  for (int round = 0; round < 2; ++round) {
    optimizer.attach({w});
    EXPECT_EQ(optimizer.steps(), 0);
    give_gradient(w, {1, 1});
    optimizer.step();
    EXPECT_EQ(values(w)[1], 1);
  }
}

TEST(Optimizer, SharesItsStateAmongCopies) {
  const Variable w = parameter({0, 0});
  Optimizer optimizer = counting();
  Optimizer copy = optimizer;
  copy.attach({w});
  give_gradient(w, {1, 1});
  optimizer.step();
  EXPECT_EQ(copy.steps(), 1);
}

TEST(Optimizer, RefusesWhatTakesNoGradient) {
  Optimizer optimizer = counting();
  const Variable w = parameter({0, 0});
  const Variable made =
      record("made", {w}, Tensor::zeros({2}),
             [](const Tensor& dy) { return std::vector{dy}; });
  EXPECT_THROW(optimizer.attach({w, Variable(Tensor::zeros({2}))}), ValueError);
  EXPECT_THROW(optimizer.attach({Variable()}), ValueError);
  EXPECT_THROW(optimizer.attach({made}), ValueError);
}

TEST(Optimizer, RefusesTheSameParameterTwice) {
  Optimizer optimizer = counting();
  const Variable w = parameter({0, 0});
  EXPECT_THROW(optimizer.attach({w, parameter({1, 1}), w}), ValueError);
}

TEST(Optimizer, KeepsItsParametersWhenAttachingOthersFails) {
  const Variable w = parameter({0, 0});
  Optimizer optimizer = counting();
  optimizer.attach({w});
  EXPECT_THROW(optimizer.attach({Variable()}), ValueError);
  give_gradient(w, {1, 1});
  optimizer.step();
  EXPECT_EQ(values(w), (std::vector<float>{-0.5f, 1}));
}

TEST(Optimizer, RefusesAStepWithNothingAttached) {
  Optimizer optimizer = counting();
  EXPECT_THROW(optimizer.step(), ValueError);
}

TEST(Optimizer, RefusesAFactorThatIsNotAFiniteNumberFromZeroOn) {
  const Variable w = parameter({0, 0});
  Optimizer optimizer = counting();
  optimizer.attach({w});
  for (const float factor : {-1.0f, std::numeric_limits<float>::quiet_NaN(),
                             std::numeric_limits<float>::infinity()}) {
    EXPECT_THROW(optimizer.step(factor), ValueError);
  }
  EXPECT_EQ(optimizer.steps(), 0);
}

TEST(Optimizer, RefusesANullRule) {
  EXPECT_THROW(Optimizer(std::shared_ptr<const UpdateRule>()), ValueError);
}

TEST(Optimizer, DecaysKernelsButNotBiases) {
  const Variable kernel(Tensor::full({1, 1}, 8.0f), true);
  const Variable bias = parameter({8.0f});
  const Variable unused(Tensor::full({1, 1}, 8.0f), true);
  const auto step = [&](const SGDOptions& options) {
    SGD sgd(options);
    sgd.attach({kernel, bias, unused});
    kernel.assign(Tensor::full({1, 1}, 8.0f));
    bias.assign(Tensor::full({1}, 8.0f));
    give_gradient(kernel, {0});
    give_gradient(bias, {0});
    sgd.step(0.5f);
  };
  step({.learning_rate = 0.5f, .weight_decay = 0.5f});
  // 8 - 8 * 0.5 * (0.5 * 0.5).
  EXPECT_EQ(values(kernel)[0], 7.0f);
  EXPECT_EQ(values(bias)[0], 8.0f);
  EXPECT_EQ(values(unused)[0], 8.0f);
  step({.learning_rate = 0.5f, .weight_decay = 0.5f, .decay_min_rank = 0});
  EXPECT_EQ(values(kernel)[0], 7.0f);
  EXPECT_EQ(values(bias)[0], 7.0f);
}

TEST(Optimizer, TakesAnotherLearningRateForGood) {
  const Variable w = parameter({0, 0});
  Optimizer optimizer = counting();
  optimizer.attach({w});
  optimizer.set_learning_rate(2.0f);
  EXPECT_EQ(optimizer.learning_rate(), 2.0f);
  give_gradient(w, {1, 1});
  optimizer.step();
  EXPECT_EQ(values(w)[0], -2.0f);
  optimizer.attach({w});
  EXPECT_EQ(optimizer.learning_rate(), 2.0f);
  EXPECT_THROW(optimizer.set_learning_rate(-1), ValueError);
  EXPECT_THROW(optimizer.set_learning_rate(std::nanf("")), ValueError);
}

TEST(AdamW, IsAdamWithDecay) {
  const auto run = [](Optimizer optimizer) {
    const Variable w(Tensor::of<float>({1, 2}, {1, -3}), true);
    optimizer.attach({w});
    for (int step = 0; step < 3; ++step) {
      give_gradient(w, {0.5f, 2});
      optimizer.step();
    }
    return values(w);
  };
  EXPECT_EQ(run(AdamW({.weight_decay = 0})), run(Adam()));
  EXPECT_EQ(run(AdamW()), run(Adam({.weight_decay = 0.004f})));
  EXPECT_NE(run(AdamW()), run(Adam()));
  EXPECT_THROW(AdamW({.weight_decay = -1}), ValueError);
  EXPECT_THROW(AdamW({.beta1 = 1}), ValueError);
}

}  // namespace
}  // namespace octet::train
