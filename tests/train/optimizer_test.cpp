#include <cmath>
#include <functional>
#include <limits>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/layers/zoo.h>
#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>
#include <octet/runtime/parallel.h>
#include <octet/train/fit.h>
#include <octet/train/optimizer.h>

#include "../support.h"
#include "blobs.h"
#include "gradients.h"
#include "weights.h"

namespace octet::train {
namespace {

/// Adds the rate to its slot and subtracts it from the value; records the
/// steps.
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

Optimizer counting_rule() {
  return Optimizer(std::make_shared<CountingRule>());
}

TEST(Optimizer, MinimizesALoss) {
  const Variable w(Tensor::of<float>({2}, {1, 2}), true);
  SGD optimizer({.learning_rate = 0.25f});
  optimizer.attach({w});
  // Earlier gradients do not count; the gradient of w^2 is 2 w.
  sum(10 * w).backward();
  optimizer.minimize(sum(w * w));
  EXPECT_EQ(values(w), (std::vector<float>{0.5f, 1}));
  EXPECT_EQ(optimizer.steps(), 1);
}

TEST(Optimizer, RejectsMinimizeBeforeBackward) {
  const Variable w(Tensor::of<float>({2}, {1, 2}), true);
  SGD optimizer({.learning_rate = 0.25f});
  const Variable loss = sum(w * w);
  EXPECT_THROW(optimizer.minimize(loss), ValueError);
  optimizer.attach({w});
  optimizer.minimize(loss);
  EXPECT_EQ(values(w), (std::vector<float>{0.5f, 1}));
}

// Otherwise a fit without any training would succeed.
TEST(Optimizer, PropagatesGradientsThatAreNotFinite) {
  for (Optimizer& optimizer :
       std::vector<Optimizer>{SGD(), Adam(), RMSprop(), Lion(), LAMB()}) {
    const Variable w(Tensor::of<float>({2}, {1, 2}), true);
    optimizer.attach({w});
    give_gradient(w, {std::numeric_limits<float>::quiet_NaN(), 1});
    optimizer.step();
    EXPECT_TRUE(std::isnan(values(w)[0]));
  }
}

TEST(Optimizer, ClearsGradients) {
  const Variable w(Tensor::of<float>({2}, {1, 2}), true);
  SGD optimizer({.learning_rate = 0.25f});
  optimizer.attach({w});
  sum(10 * w).backward();
  optimizer.zero_grad();
  sum(w * w).backward();
  optimizer.step();
  EXPECT_EQ(values(w), (std::vector<float>{0.5f, 1}));
}

TEST(Optimizer, CallsTheRuleWithRateTimesFactorAndStepsFromOne) {
  const Variable w = parameter({10, 0});
  Optimizer optimizer = counting_rule();
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

TEST(Optimizer, DoesNotChangeAParameterWithoutAGradient) {
  const Variable moved = parameter({0, 0});
  const Variable still = parameter({7, 7});
  Optimizer optimizer = counting_rule();
  optimizer.attach({moved, still});
  give_gradient(moved, {1, 1});
  optimizer.step();
  EXPECT_EQ(values(still), (std::vector<float>{7, 7}));
  EXPECT_EQ(values(moved), (std::vector<float>{-0.5f, 1}));
}

TEST(Optimizer, ResetsItsStateWhenAttachedAgain) {
  const Variable w = parameter({0, 0});
  Optimizer optimizer = counting_rule();
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
  Optimizer optimizer = counting_rule();
  Optimizer copy = optimizer;
  copy.attach({w});
  give_gradient(w, {1, 1});
  optimizer.step();
  EXPECT_EQ(copy.steps(), 1);
}

TEST(Optimizer, RejectsVariablesWithoutAGradient) {
  Optimizer optimizer = counting_rule();
  const Variable w = parameter({0, 0});
  const Variable made =
      record("made", {w}, Tensor::zeros({2}),
             [](const Tensor& dy) { return std::vector{dy}; });
  EXPECT_THROW(optimizer.attach({w, Variable(Tensor::zeros({2}))}), ValueError);
  EXPECT_THROW(optimizer.attach({Variable()}), ValueError);
  EXPECT_THROW(optimizer.attach({made}), ValueError);
}

TEST(Optimizer, RejectsARepeatedParameter) {
  Optimizer optimizer = counting_rule();
  const Variable w = parameter({0, 0});
  EXPECT_THROW(optimizer.attach({w, parameter({1, 1}), w}), ValueError);
}

TEST(Optimizer, IsUnchangedIfAttachFails) {
  const Variable w = parameter({0, 0});
  Optimizer optimizer = counting_rule();
  optimizer.attach({w});
  EXPECT_THROW(optimizer.attach({Variable()}), ValueError);
  give_gradient(w, {1, 1});
  optimizer.step();
  EXPECT_EQ(values(w), (std::vector<float>{-0.5f, 1}));
}

TEST(Optimizer, RejectsAStepWithoutParameters) {
  Optimizer optimizer = counting_rule();
  EXPECT_THROW(optimizer.step(), ValueError);
}

/// A cloned or quantized model has separate parameters.
TEST(Optimizer, RejectsAStepWithoutAGradient) {
  for (Optimizer& optimizer :
       std::vector<Optimizer>{SGD(), Adam(), AdamW({.weight_decay = 0.1f}),
                              RMSprop(), Lion(), LAMB()}) {
    const Model model = small_network();
    Model trained = model.clone();
    optimizer.attach(model.trainable_variables());
    const Batch batch = blobs(8).batch(0, 8);
    softmax_cross_entropy(trained(batch.inputs, Mode::training)[0],
                          batch.label())
        .backward();
    EXPECT_EQ(failure_of<ValueError>([&] { optimizer.step(); }),
              (Failure{"no_gradient", "Optimizer"}));
    EXPECT_EQ(optimizer.steps(), 0);
    EXPECT_NO_THROW(optimizer.step(1.0f, MissingGradients::ignore));
    EXPECT_EQ(optimizer.steps(), 1);
    optimizer.attach(trained.trainable_variables());
    EXPECT_NO_THROW(optimizer.step());
    // The step clears the gradients.
    EXPECT_THROW(optimizer.step(), ValueError);
  }
}

TEST(Optimizer, AcceptsZeroGradients) {
  const Variable w = parameter({1, 2});
  SGD optimizer({.learning_rate = 1});
  optimizer.attach({w});
  give_gradient(w, {0, 0});
  EXPECT_NO_THROW(optimizer.step());
  EXPECT_EQ(values(w), (std::vector<float>{1, 2}));
}

TEST(Optimizer, RejectsTheLossOfOtherParameters) {
  const Variable w(Tensor::of<float>({2}, {1, 2}), true);
  const Variable other(Tensor::of<float>({2}, {1, 2}), true);
  SGD optimizer;
  optimizer.attach({w});
  EXPECT_THROW(optimizer.minimize(sum(other * other)), ValueError);
}

TEST(Optimizer, RejectsAFactorThatIsNegativeOrNotFinite) {
  const Variable w = parameter({0, 0});
  Optimizer optimizer = counting_rule();
  optimizer.attach({w});
  for (const float factor : {-1.0f, std::numeric_limits<float>::quiet_NaN(),
                             std::numeric_limits<float>::infinity()}) {
    EXPECT_THROW(optimizer.step(factor), ValueError);
  }
  EXPECT_EQ(optimizer.steps(), 0);
}

TEST(Optimizer, RejectsANullRule) {
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

TEST(Optimizer, ResumesFromItsState) {
  const auto move = [](Optimizer& optimizer, const Variable& w, int steps) {
    for (int i = 0; i < steps; ++i) {
      give_gradient(w, {1.0f + values(w)[0], -3});
      optimizer.step();
    }
  };
  const Variable whole = parameter({1, 2});
  Adam first({.learning_rate = 0.1f});
  first.attach({whole});
  move(first, whole, 3);
  first.set_learning_rate(0.05f);
  const Tensor value = whole.value().clone();
  OptimizerState state = first.state();
  for (Tensor& slot : state.slots[0]) slot = slot.clone();
  EXPECT_EQ(state.steps, 3);
  move(first, whole, 2);

  const Variable resumed = parameter({0, 0});
  resumed.assign(value);
  Adam second({.learning_rate = 0.1f});
  second.attach({resumed});
  second.restore(state);
  EXPECT_EQ(second.steps(), 3);
  EXPECT_EQ(second.learning_rate(), 0.05f);
  move(second, resumed, 2);
  EXPECT_EQ(values(resumed), values(whole));
}

TEST(Optimizer, RejectsAMismatchedState) {
  Adam optimizer({.learning_rate = 0.5f});
  optimizer.attach({parameter({1, 2, 3})});
  const OptimizerState good = optimizer.state();
  const auto refusal = [&](const std::function<void(OptimizerState&)>& change) {
    OptimizerState state = good;
    state.steps = 9;
    change(state);
    const Failure failure =
        failure_of<Error>([&] { optimizer.restore(state); });
    EXPECT_EQ(optimizer.learning_rate(), 0.5f);
    return failure;
  };
  const Failure count{"count_mismatch", "Optimizer"};
  const Failure shape{"shape_mismatch", "Optimizer"};
  EXPECT_EQ(refusal([](OptimizerState& s) { s.slots.clear(); }), count);
  EXPECT_EQ(refusal([](OptimizerState& s) { s.steps = -1; }), count);
  EXPECT_EQ(refusal([](OptimizerState& s) { s.slots[0].pop_back(); }), count);
  EXPECT_EQ(
      refusal([](OptimizerState& s) { s.slots[0][1] = Tensor::zeros({4}); }),
      shape);
  EXPECT_EQ(refusal([](OptimizerState& s) { s.slots[0][1] = {}; }), shape);
  EXPECT_EQ(refusal([](OptimizerState& s) { s.learning_rate = -1.0f; }),
            (Failure{"out_of_range", "Optimizer"}));
  EXPECT_EQ(optimizer.steps(), 0);
}

TEST(Optimizer, RetainsANewLearningRate) {
  const Variable w = parameter({0, 0});
  Optimizer optimizer = counting_rule();
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

/// As in docs/guides/custom-training.md, without config().
class SignRule final : public UpdateRule {
 public:
  int slots() const override { return 0; }
  float learning_rate() const override { return 1e-3f; }
  void update(std::span<float> value, std::span<const float> gradient,
              std::span<Tensor>, float learning_rate,
              int64_t /*step*/) const override {
    for (size_t i = 0; i < value.size(); ++i) {
      if (gradient[i] != 0) {
        value[i] -= std::copysign(learning_rate, gradient[i]);
      }
    }
  }
};

TEST(CustomOptimizer, TrainsInAFit) {
  Model model = small_network();
  const History history =
      fit(model, blobs(64),
          {.epochs = 20, .optimizer = Optimizer(std::make_shared<SignRule>())});
  EXPECT_LT(history.back().loss, history.front().loss);
}

}  // namespace
}  // namespace octet::train
