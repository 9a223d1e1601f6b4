// Scales learned as logarithms (TQT) or from clipped values (PACT), and
// gradients passed beyond the range.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support.h"

namespace octet::quant {
namespace {

using ::testing::Each;

const QuantizerConfig kLogarithm4{
    .bits = 4, .rule = ScaleRule::learned_log2, .scale_rate = 1};
const QuantizerConfig kLogarithmWeight4{.bits = 4,
                                        .narrow_range = true,
                                        .per_channel = true,
                                        .rule = ScaleRule::learned_log2,
                                        .scale_rate = 1};

/// Gradient of a 4-bit scale for a sum over the values, by its definition.
double slope_sum(const Tensor& x, float scale) {
  double sum = 0;
  for (const float v : x.f32()) {
    const float steps = v / scale;
    const bool inside = steps > -8 && steps < 7;
    const float code = std::clamp(std::nearbyint(steps), -8.0f, 7.0f);
    sum += inside ? code - steps : code;
  }
  return sum;
}

TEST(LogarithmicScale, HasTheScalesGradientTimesScaleAndLn2) {
  const Tensor x = noise({6, 5, 3});
  Quantizer q("q", kLogarithm4);
  q.set_scale(0.25f);
  EXPECT_EQ(q.scale(), 0.25f);
  EXPECT_EQ(q.scale_parameter().value().item(), -2);
  sum(q(Variable(x), Mode::training)).backward();
  EXPECT_NEAR(q.scale_parameter().grad().item(),
              slope_sum(x, 0.25f) * 0.25 * std::numbers::ln2, 1e-4);
}

TEST(LogarithmicScale, HasAGradientPerChannel) {
  const Tensor w = noise({5, 3}, 3);
  Quantizer q("q", kLogarithmWeight4);
  q.set_scales(std::vector<float>{0.25f, 0.5f, 0.1f});
  sum(q.weight(Variable(w, true), -1)).backward();
  const Tensor gradient = q.scale_parameter().grad();
  const auto scales = q.scales();
  for (size_t c = 0; c < 3; ++c) {
    double expected = 0;
    for (size_t row = 0; row < 5; ++row) {
      const float steps = w.f32()[3 * row + c] / scales[c];
      const bool inside = steps > -7 && steps < 7;
      const float code = std::clamp(std::nearbyint(steps), -7.0f, 7.0f);
      expected += inside ? code - steps : code;
    }
    EXPECT_NEAR(gradient.f32()[c], expected * scales[c] * std::numbers::ln2,
                1e-5);
  }
}

TEST(LogarithmicScale, FindsTheOptimalStepByAdamFromFourTimesIt) {
  Rng rng(7);
  Tensor all({1 << 14});
  rng.fill_normal(all, 0, 1);
  // Gaussian, 16 levels: Max, "Quantizing for minimum distortion", IRE Trans.
  // Inform. Theory 6(1), 1960, table II: 0.335 standard deviations.
  constexpr float kOptimum = 0.335f;
  Quantizer q("q", kLogarithm4);
  q.set_scale(4 * kOptimum);
  const Variable leaf = q.scale_parameter();
  // Adam by its definition, with Keras' defaults and a rate of 0.02.
  double m = 0, v = 0;
  for (int t = 1; t <= 500; ++t) {
    const Variable x(all);
    const Variable error = q(x, Mode::training) - x;
    mean(error * error).backward();
    const double g = leaf.grad().item();
    m = 0.9 * m + 0.1 * g;
    v = 0.999 * v + 0.001 * g * g;
    const double step = 0.02 * (m / (1 - std::pow(0.9, t))) /
                        (std::sqrt(v / (1 - std::pow(0.999, t))) + 1e-7);
    leaf.assign(Tensor::scalar(leaf.value().item() - static_cast<float>(step)));
    leaf.zero_grad();
  }
  EXPECT_NEAR(*q.scale(), kOptimum, 0.05f * kOptimum);
}

TEST(LogarithmicScale, StaysAboveItsFloor) {
  Quantizer q("q", kLogarithm4);
  q.set_scale(0.5f);
  q.scale_parameter().assign(Tensor::scalar(-30));
  EXPECT_EQ(q.scale(), 0.5f * 0.01f);
  (void)q(Variable(noise({2, 3})), Mode::training);
  EXPECT_NEAR(q.scale_parameter().value().item(), std::log2(0.005), 1e-6);
}

TEST(LogarithmicScale, KeepsItsBitsInCopiesAndStates) {
  Quantizer q("q", kLogarithmWeight4);
  q.set_scales(std::vector<float>{0.3f, 0.7f});
  // Logarithms without an exact float scale.
  q.scale_parameter().assign(Tensor::of({2}, {-1.2345678f, -0.1234567f}));
  const auto copy = q.clone();
  Quantizer restored("q", kLogarithmWeight4);
  restored.restore(q.state());
  const Tensor leaf = q.scale_parameter().value();
  const std::vector<const Quantizer*> both{copy.get(), &restored};
  for (const Quantizer* each : both) {
    const Tensor same = each->scale_parameter().value();
    EXPECT_EQ(bits(same), bits(leaf));
    EXPECT_EQ(each->scales(), q.scales());
  }
  Config damaged = q.state();
  damaged.set("log2_scales", Config::List{Config(0.5)});
  EXPECT_EQ(failure_of<ValueError>([&] { restored.restore(damaged); }).code,
            "count_mismatch");
  damaged.set("log2_scales", Config::List{Config(1e30), Config(0.0)});
  EXPECT_THROW(restored.restore(damaged), ValueError);
  EXPECT_EQ(restored.scales(), q.scales());
}

TEST(LogarithmicScale, LearnsInAModel) {
  Model model = quantize_model(
      quickstart(), {.activation = kLogarithm4, .weight = kLogarithmWeight4});
  calibrate(model, samples(20, {8, 6, 1}), {.weights = WeightRange::mse});
  prepare_qat(model);
  EXPECT_TRUE(learns_scales(model));
  const Tensor x = noise({4, 8, 6, 1});
  const Variable y = model(Variable(x), Mode::training);
  sum(y * y).backward();
  for (const auto& q : quantizers(model)) {
    EXPECT_FALSE(q->scale_parameter().grad().empty()) << q->name();
  }
}

TEST(ClippedScale, LearnsFromClippedValues) {
  QuantizerConfig config{.bits = 4,
                         .rule = ScaleRule::learned_clip,
                         .is_signed = false,
                         .scale_rate = 1};
  Quantizer q("q", config);
  q.set_scale(0.2f);  // alpha = 15 * 0.2 = 3
  const Variable x(Tensor::of({2, 3}, {0.5f, 2.9f, 3.5f, 0.0f, 8.0f, 1.23f}),
                   true);
  const Tensor weights =
      Tensor::of({2, 3}, {1.0f, 2.0f, 4.0f, 8.0f, 16.0f, 32.0f});
  const Variable y = q(x, Mode::training);
  EXPECT_FLOAT_EQ(y.value().f32()[2], 3.0f);
  sum(y * Variable(weights)).backward();
  // dL/dalpha = 4 + 16; a step of alpha is 15 of the scale.
  EXPECT_NEAR(q.scale_parameter().grad().item(), 20.0 / 15, 1e-5);
  // PACT: dy/dx is 1 up to alpha, 0 beyond.
  EXPECT_THAT(std::vector<float>(x.grad().f32().begin(), x.grad().f32().end()),
              ::testing::ElementsAre(1, 2, 0, 8, 0, 32));
}

// A signed range has an extra level at its lower end, which moves by low/high
// of a step of alpha; values between -alpha and it are not clipped.
TEST(ClippedScale, LearnsFromBothEndsOfASignedRange) {
  Quantizer q("q",
              {.bits = 4, .rule = ScaleRule::learned_clip, .scale_rate = 1});
  q.set_scale(0.5f);  // [-4, 3.5]
  const Variable x(Tensor::of({2, 3}, {-9.0f, -4.0f, -3.8f, 3.4f, 3.5f, 7.0f}),
                   true);
  const Tensor weights =
      Tensor::of({2, 3}, {1.0f, 2.0f, 4.0f, 8.0f, 16.0f, 32.0f});
  const Variable y = q(x, Mode::training);
  EXPECT_FLOAT_EQ(y.value().f32()[0], -4.0f);
  sum(y * Variable(weights)).backward();
  EXPECT_NEAR(q.scale_parameter().grad().item(),
              ((16.0 + 32) - 8.0 / 7 * (1 + 2)) / 7, 1e-5);
  EXPECT_THAT(std::vector<float>(x.grad().f32().begin(), x.grad().f32().end()),
              ::testing::ElementsAre(0, 2, 4, 8, 16, 0));
}

// Two consumers share the tensor; its range decays once.
TEST(ClippedScale, DecaysOnceForAllConsumers) {
  const SymbolicTensor x = input({3}, "x");
  const SymbolicTensor h = ReLU()(Dense({.units = 4, .name = "first"})(x));
  const SymbolicTensor y = Add()({Dense({.units = 2, .name = "a"})(h),
                                  Dense({.units = 2, .name = "b"})(h)});
  Model model = quantize_model(Model(x, y),
                               {.activation = {.bits = 4,
                                               .rule = ScaleRule::learned_clip,
                                               .scale_rate = 0.5f,
                                               .clip_decay = 0.125f}});
  calibrate(model, samples(20, {3}));
  prepare_qat(model);
  const Variable loss = model.regularization_loss();
  ASSERT_TRUE(loss);
  loss.backward();
  int64_t scales = 0;
  for (const auto& q : quantizers(model)) {
    if (!q->config().learns()) continue;
    ++scales;
    // For alpha = scale * high: 0.5 * 2 * 0.125 * alpha, in steps of the scale.
    EXPECT_FLOAT_EQ(q->scale_parameter().grad().item(),
                    0.5f * 2 * 0.125f * *q->scale())
        << q->name();
  }
  EXPECT_GE(scales, 2);
}

TEST(ClippedScale, IsNotForWeights) {
  EXPECT_EQ(failure_of<UnsupportedError>([] {
              (void)quantize_model(
                  quickstart(), {.weight = {.narrow_range = true,
                                            .rule = ScaleRule::learned_clip}});
            }).code,
            "unsupported_value");
}

TEST(ClippedScale, RefusesADecayOutOfRange) {
  for (const float decay : {-0.1f, 1.0f, std::nanf("")}) {
    EXPECT_EQ(
        failure_of<ValueError>([&] { Quantizer("q", {.clip_decay = decay}); }),
        (Failure{"out_of_range", "quantizer 'q'"}));
  }
}

TEST(PassThrough, PassesGradientsBeyondTheRange) {
  for (const bool passes : {false, true}) {
    QuantizerConfig config = activation_quantizer();
    if (passes) config.straight_through = StraightThrough::pass_through;
    Quantizer q("q", config);
    q.set_scale(0.01f);  // a range of 1.27
    const Variable x(Tensor::of({4}, {-5.0f, 0.5f, 1.0f, 7.0f}), true);
    sum(q(x * Variable(Tensor::scalar(1)), Mode::training)).backward();
    EXPECT_THAT(x.grad().f32()[3], passes ? 1 : 0);
    EXPECT_THAT(x.grad().f32()[1], 1);
  }
}

TEST(PassThrough, AppliesToWeights) {
  QuantizerConfig config = weight_quantizer();
  config.rule = ScaleRule::fixed;
  config.straight_through = StraightThrough::pass_through;
  Quantizer q("q", config);
  q.set_scales(std::vector<float>{0.01f, 0.02f});
  const Variable w(Tensor::of({2, 2}, {5.0f, -5.0f, 0.1f, 0.1f}), true);
  sum(q.weight(w, -1)).backward();
  EXPECT_THAT(std::vector<float>(w.grad().f32().begin(), w.grad().f32().end()),
              Each(1.0f));
}

TEST(LearnedForms, ArePartOfPlans) {
  const QdqPlan plan = plan_for(
      quickstart(),
      {.activation = {.bits = 4,
                      .rule = ScaleRule::learned_clip,
                      .clip_decay = 0.25f,
                      .straight_through = StraightThrough::pass_through},
       .weight = kLogarithmWeight4});
  EXPECT_EQ(plan_from_config(to_config(plan)), plan);
  EXPECT_EQ(to_string(plan.points[0].config),
            "int4 [-8,7] per tensor learned_clip pass_through");
  EXPECT_EQ(to_string(plan.points[1].config),
            "int4 [-7,7] per channel learned_log2");
}

}  // namespace
}  // namespace octet::quant
