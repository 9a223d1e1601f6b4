// Oscillating weights: with weights set by the test, and in fits.
#include <algorithm>
#include <cmath>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/quant/quant.h>

#include "blobs.h"
#include "checkpoints.h"
#include "tests/layers/support.h"

namespace octet::train {
namespace {

using ::testing::HasSubstr;

/// A dense kernel [1,2] with fixed scales of 1, quantized values in [-7,7].
Model two_weights(float first, float second) {
  const SymbolicTensor x = input({1}, "x");
  const Model plain(x,
                    Dense({.units = 2, .use_bias = false, .name = "dense"})(x));
  Model model = quant::quantize_model(
      plain, {.weight = {.bits = 4,
                         .narrow_range = true,
                         .per_channel = true,
                         .rule = quant::ScaleRule::fixed}});
  for (const auto& q : quant::quantizers(model)) {
    if (q->config().per_channel) {
      q->set_scales(std::vector<float>{1, 1});
    } else {
      q->set_scale(1);
    }
  }
  model.layer("quant_dense")
      .parameter("kernel")
      .variable.assign(Tensor::of({1, 2}, {first, second}));
  return model;
}

/// A simulated fit in which the test sets the weights.
class ByHand {
 public:
  ByHand(Model& model, std::shared_ptr<Oscillations> watch, int64_t steps)
      : weight_(model.layer("quant_dense").parameter("kernel").variable),
        optimizer_(SGD({.learning_rate = 0})),
        watch_(std::move(watch)) {
    optimizer_.attach({weight_});
    training_.emplace(model, optimizer_, std::vector<std::string>());
    progress_.epochs = 1;
    progress_.steps = steps;
    progress_.training = &*training_;
    watch_->on_train_begin(progress_);
  }
  void move(float first, float second) {
    weight_.assign(Tensor::of({1, 2}, {first, second}));
    optimizer_.step(1.0f, MissingGradients::ignore);
    ++progress_.step;
    watch_->on_step(progress_);
  }
  float value(size_t i) const { return weight_.value().f32()[i]; }

 private:
  Variable weight_;
  Optimizer optimizer_;
  std::shared_ptr<Oscillations> watch_;
  std::optional<Training> training_;
  Progress progress_;
};

TEST(Oscillations, CountReversalsNotSteadyChanges) {
  Model model = two_weights(0.4f, 0.4f);
  const auto watch = oscillations({.momentum = 0.5f});
  ByHand fit(model, watch, 100);
  EXPECT_EQ(watch->share(), 0);
  fit.move(0.6f, 0.6f);  // q = 1, 1: no direction before the first change
  EXPECT_EQ(watch->share(), 0);
  fit.move(0.4f, 1.6f);  // q = 0: a reversal; 2: a steady change
  EXPECT_EQ(watch->share(), 0.5);
  const auto shares = watch->shares();
  ASSERT_EQ(shares.size(), 1u);
  EXPECT_EQ(shares[0].quantizer, "dense/kernel");
  EXPECT_EQ(shares[0].weights, 2);
  EXPECT_EQ(shares[0].oscillating, 1);
  EXPECT_THAT(watch->to_string(), HasSubstr("50.00 %"));
  // The frequency of the first weight halves per step: 0.5, 0.25, ...,
  // 0.0078125, 0.00390625.
  for (int step = 0; step < 6; ++step) fit.move(0.3f, 1.7f);
  EXPECT_EQ(watch->share(), 0.5);
  fit.move(0.3f, 1.7f);
  EXPECT_EQ(watch->share(), 0);
}

TEST(Oscillations, FreezeAtTheMeanQuantizedValue) {
  Model model = two_weights(0.4f, 5);
  const auto watch = oscillations({.momentum = 0.25f, .freeze_above = 0.02f});
  ByHand fit(model, watch, 100);
  fit.move(0.6f, 5);
  // Frequency 0.25 exceeds the initial threshold 0.2; the mean quantized value
  // is 0.1875.
  fit.move(0.4f, 5);
  EXPECT_EQ(fit.value(0), 0);
  EXPECT_EQ(fit.value(1), 5);
  fit.move(3, 5.4f);
  EXPECT_EQ(fit.value(0), 0);
  EXPECT_EQ(fit.value(1), 5.4f);
  EXPECT_EQ(watch->shares()[0].frozen, 1);
}

TEST(Oscillations, AreDampedTowardTheirQuantizedValue) {
  Model model = two_weights(0, 0);
  const auto watch = oscillations({.damping = 0.5f});
  ByHand fit(model, watch, 2);
  fit.move(0.25f, 9);  // damping (1 - cos(pi / 2)) / 2 of 0.5
  EXPECT_FLOAT_EQ(fit.value(0), 0.25f * 0.75f);
  EXPECT_EQ(fit.value(1), 9);  // clipped: only its gradient moves it
  fit.move(1.25f, 0);
  EXPECT_FLOAT_EQ(fit.value(0), 1.125f);
}

/// Noise with random classes, so gradients never vanish.
Dataset unlearnable() {
  Tensor labels(Shape{256}, DType::i64);
  for (int64_t i = 0; i < 256; ++i) {
    labels.data<int64_t>()[static_cast<size_t>(i)] = i % 3;
  }
  return Dataset(noise({256, 2}), labels);
}

Model quantized_blobs(quant::ScaleRule rule = quant::ScaleRule::live) {
  const SymbolicTensor x = input({2}, "x");
  const SymbolicTensor h = ReLU()(Dense({.units = 16})(x));
  const Model plain(x, Dense({.units = 3})(h), {.seed = 3});
  Model model = quant::quantize_model(plain, {.activation = {.bits = 4},
                                              .weight = {.bits = 3,
                                                         .narrow_range = true,
                                                         .per_channel = true,
                                                         .rule = rule}});
  quant::calibrate(model, blobs(256));
  quant::prepare_qat(model);
  return model;
}

FitOptions options_with(std::shared_ptr<Oscillations> watch) {
  return {.epochs = 6,
          .batch_size = 8,
          .optimizer = SGD({.learning_rate = 0.2f}),
          .callbacks = {std::move(watch)}};
}

TEST(Oscillations, OccurInAFitAndLessWithDamping) {
  double shares[2];
  for (const bool damped : {false, true}) {
    Model model = quantized_blobs();
    const auto watch = oscillations({.damping = damped ? 0.5f : 0.0f});
    fit(model, unlearnable(), options_with(watch));
    shares[damped ? 1 : 0] = watch->share();
  }
  EXPECT_GT(shares[0], 0);
  EXPECT_LT(shares[1], shares[0]);
}

TEST(Oscillations, TrackingDoesNotChangeTheResult) {
  Model watched = quantized_blobs(), plain = quantized_blobs();
  fit(watched, unlearnable(), options_with(oscillations()));
  FitOptions options = options_with(nullptr);
  options.callbacks.clear();
  fit(plain, unlearnable(), options);
  const Tensor x = noise({9, 2});
  EXPECT_EQ(bits(watched.predict(x)), bits(plain.predict(x)));
}

TEST(Oscillations, ResumeBitIdentically) {
  const OscillationOptions freezing{.momentum = 0.1f, .freeze_above = 0.05f};
  const auto checkpoints = std::make_shared<MemoryCheckpoints>(30);
  const auto run = [&](const OscillationOptions& watching, bool resume) {
    Model model = quantized_blobs(quant::ScaleRule::fixed);
    const auto watch = oscillations(watching);
    FitOptions options = options_with(watch);
    options.checkpoints = checkpoints;
    options.resume = resume;
    fit(model, unlearnable(), options);
    return std::pair(bits(model.predict(noise({9, 2}))), watch->to_string());
  };
  const auto expected = run(freezing, false);
  const std::vector<TrainingState> states = checkpoints->states;
  ASSERT_GT(states.size(), 3u);
  for (const size_t kept : {size_t{1}, states.size() / 2}) {
    checkpoints->states.assign(states.begin(),
                               states.begin() + static_cast<ptrdiff_t>(kept));
    EXPECT_EQ(run(freezing, true), expected) << kept;
  }
  checkpoints->states.resize(1);
  EXPECT_EQ(failure_of<ValueError>([&] { run({.momentum = 0.2f}, true); }),
            (Failure{"conflicting_options", "oscillations"}));
}

TEST(Oscillations, RejectUnsupportedModels) {
  for (const float bad : {-0.1f, 1.5f, std::nanf("")}) {
    EXPECT_EQ(
        failure_of<ValueError>([&] { (void)oscillations({.momentum = bad}); }),
        (Failure{"out_of_range", "oscillations"}));
    EXPECT_EQ(failure_of<ValueError>(
                  [&] { (void)oscillations({.freeze_above = bad}); }),
              (Failure{"out_of_range", "oscillations"}));
    EXPECT_EQ(
        failure_of<ValueError>([&] { (void)oscillations({.damping = bad}); }),
        (Failure{"out_of_range", "oscillations"}));
  }
  EXPECT_THROW((void)oscillations({.momentum = 0}), ValueError);
  EXPECT_EQ(failure_of<ValueError>([] {
              Model live = quantized_blobs();
              fit(live, blobs(64),
                  options_with(oscillations({.freeze_above = 0.1f})));
            }),
            (Failure{"conflicting_options", "oscillations"}));
  const SymbolicTensor x = input({2}, "x");
  Model plain(x, Dense({.units = 3})(x));
  EXPECT_EQ(failure_of<ValueError>([&] {
              fit(plain, blobs(64), {.callbacks = {oscillations()}});
            }),
            (Failure{"not_quantized", "oscillations"}));
}

}  // namespace
}  // namespace octet::train
