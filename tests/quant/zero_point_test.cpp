// Ranges with a zero point, as in files of ONNX Runtime's quantizer.
#include <cmath>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support.h"

namespace octet::quant {
namespace {

QuantizerConfig around(int zero_point, ScaleRule rule = ScaleRule::fixed) {
  return {.rule = rule, .is_signed = false, .zero_point = zero_point};
}

TEST(ZeroPoint, MovesTheRange) {
  for (const int zero_point : {0, 1, 113, 128, 255}) {
    SCOPED_TRACE(zero_point);
    Quantizer q("q", around(zero_point));
    EXPECT_EQ(q.config().low(), -zero_point);
    EXPECT_EQ(q.config().high(), 255 - zero_point);
    q.set_scale(0.5f);
    const std::vector<float> x{-500, -0.75f, -0.25f, 0, 0.25f, 0.75f, 500};
    std::vector<float> expected;
    for (const float v : x) {  // ONNX QuantizeLinear and DequantizeLinear
      const float code =
          std::clamp(std::nearbyint(v / 0.5f) + static_cast<float>(zero_point),
                     0.0f, 255.0f);
      expected.push_back((code - static_cast<float>(zero_point)) * 0.5f);
    }
    EXPECT_EQ(values(q(Variable(tensor({7}, x)))), expected);
  }
}

TEST(ZeroPoint, MustBeInRangeWithAFixedOrLearnedScale) {
  const auto refused = [](const QuantizerConfig& config) {
    return failure_of<ValueError>([&] { Quantizer("q", config); });
  };
  const Failure invalid{"invalid_value", "quantizer 'q'"};
  EXPECT_EQ(refused(around(256)), invalid);
  EXPECT_EQ(refused(around(-1)), invalid);
  EXPECT_EQ(refused({.bits = 4, .is_signed = false, .zero_point = 16}),
            invalid);
  EXPECT_EQ(refused({.zero_point = 3}), invalid);
  for (const ScaleRule rule : {ScaleRule::ema, ScaleRule::last_value,
                               ScaleRule::learned_clip, ScaleRule::live}) {
    EXPECT_EQ(refused(around(3, rule)),
              (Failure{"conflicting_options", "quantizer 'q'"}));
  }
  EXPECT_EQ(to_string(around(113)),
            "uint8 [0,255] around 113 per tensor fixed");
  EXPECT_EQ(to_string(QuantizerConfig{}), "int8 [-128,127] per tensor fixed");
}

Model plain_network() {
  const SymbolicTensor image = input({5, 7, 3}, "image");
  SymbolicTensor x = ReLU()(
      Conv2D({.filters = 17, .padding = Padding::same, .name = "conv"})(image));
  x = ReLU()(DepthwiseConv2D({.padding = Padding::same})(x));
  Model plain(image, Dense({.units = 4})(GlobalAveragePooling2D()(x)));
  shake(plain);
  return plain;
}

/// The image has zero point 40, the other tensors 0.
QdqPlan moved_plan(const Model& plain) {
  QdqPlan plan = plan_for(plain);
  for (QdqPoint& point : plan.points) {
    if (point.group == "image") point.config = around(40);
  }
  return plan;
}

Model moved_network() {
  const Model plain = plain_network();
  Model model = apply(moved_plan(plain), plain);
  for (const auto& each : quantizers(model)) {
    if (each->config().rule != ScaleRule::live) each->set_scale(0.02f);
  }
  return model;
}

TEST(ZeroPoint, MatchesBitForBitInEveryExecutionMode) {
  const Model model = moved_network();
  ASSERT_EQ(quantizer(model, "image")->config().zero_point, 40);
  for (const int64_t n : {int64_t{1}, int64_t{9}}) {
    const Tensor in = noise({n, 5, 7, 3}, 4);
    const std::vector<uint32_t> expected = bits(model(Variable(in)));
    EXPECT_EQ(bits(InferenceSession(model).run(in)), expected);
    const FloatGemmGuard float_codes;
    EXPECT_EQ(bits(model(Variable(in))), expected);
  }
}

// Values beyond a signed byte in the residual of an epilogue; compiled programs
// need at least 16 samples.
TEST(ZeroPoint, OfAResidualMatchesBitForBit) {
  for (const int zero_point : {0, 200, 255}) {
    for (const bool sums_first : {true, false}) {
      SCOPED_TRACE(fmt::format("{} {}", zero_point, sums_first));
      const SymbolicTensor image = input({5, 7, 3}, "image");
      const SymbolicTensor a = ReLU()(Conv2D({.filters = 6})(image));
      const SymbolicTensor b =
          Conv2D({.filters = 6, .kernel_size = 1, .name = "sums"})(a);
      const SymbolicTensor sum = sums_first ? Add({.name = "add"})({b, a})
                                            : Add({.name = "add"})({a, b});
      const Model plain(image, Conv2D({.filters = 4, .kernel_size = 1})(sum));
      shake(plain);
      QdqPlan plan = plan_for(plain, {.policy = Policy::toolkit});
      QdqPoint at_add = plan.points[0];
      at_add.layer = "add";
      at_add.config = around(zero_point);
      for (const int index : {0, 1}) {
        std::erase_if(plan.points, [&](const QdqPoint& point) {
          return point.layer == "add" && point.site == QdqSite::input(index);
        });
        at_add.site = QdqSite::input(index);
        at_add.group = fmt::format("added_{}", index);
        plan.points.push_back(at_add);
      }
      Model model = apply(plan, plain);
      for (const auto& each : quantizers(model)) {
        if (each->config().rule != ScaleRule::live) each->set_scale(0.004f);
      }
      const Tensor in = noise({32, 5, 7, 3}, 4);
      const std::vector<uint32_t> expected = bits(model(Variable(in)));
      EXPECT_EQ(bits(InferenceSession(model).run(in)), expected);
      EXPECT_EQ(bits(model.predict(in)), expected);
    }
  }
}

TEST(ZeroPoint, LeavesTheScaleToLearn) {
  Quantizer q("q", {.rule = ScaleRule::learned,
                    .is_signed = false,
                    .zero_point = 40,
                    .scale_rate = 1});
  q.set_scale(0.5f);
  const Variable x = Variable(tensor({1, 4}, {-100, -1.1f, 1.4f, 300}), true);
  sum(q(x, Mode::training)).backward();
  EXPECT_EQ(values(x.grad()), (std::vector<float>{0, 1, 1, 0}));
  // The ends are -40 and 215; between them the gradient is q - x/s.
  const double slope = -40 + (-2 + 2.2) + (3 - 2.8) + 215;
  EXPECT_NEAR(q.scale_parameter().grad().item(), slope / std::sqrt(4 * 215.0),
              1e-5);
}

TEST(ZeroPoint, IsNotCalibrated) {
  Model model = moved_network();
  const auto refused = [](auto calibrate) {
    EXPECT_EQ(failure_of<UnsupportedError>(calibrate),
              (Failure{"unsupported_value", "quantizer 'image'"}));
  };
  refused([&] { (void)calibrate(model, samples(4, {5, 7, 3})); });
  refused([&] { (void)auto_calibrate(model, samples(4, {5, 7, 3})); });
  EXPECT_EQ(quantizer(model, "image")->scale(), 0.02f);
}

TEST(ZeroPoint, IsPartOfPlansAndResetWithTheWidth) {
  Model model = moved_network();
  const Model again = model_from_state(state_of(model));
  EXPECT_EQ(quantizer(again, "image")->config().zero_point, 40);
  const Tensor in = noise({2, 5, 7, 3}, 4);
  EXPECT_EQ(bits(again.predict(in)), bits(model.predict(in)));

  const Model plain = plain_network();
  const auto image_at = [&](int width) {
    const QdqPlan changed = with_bits(moved_plan(plain), plain,
                                      {{.layer = "conv", .activation = width}});
    return std::ranges::find(changed.points, "image", &QdqPoint::group)->config;
  };
  EXPECT_EQ(image_at(8), around(40));
  EXPECT_EQ(image_at(4).low(), -8);
}

}  // namespace
}  // namespace octet::quant
