// Placement, calibration and sessions of models in FP8.
#include <algorithm>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/layers/inference_session.h>
#include <octet/layers/layers.h>
#include <octet/layers/zoo.h>
#include <octet/quant/quant.h>
#include <octet/runtime/rng.h>

#include "support.h"

namespace octet::quant {
namespace {

using ::testing::ElementsAre;

constexpr NumberFormat kFp8 = NumberFormat::fp8_e4m3;

QuantizeOptions fp8_options() {
  return {.activation = activation_quantizer(kFp8),
          .weight = weight_quantizer(kFp8)};
}

Tensor fp8_images(const Model& model, int64_t count) {
  Tensor x(model.inputs()[0].shape().with(0, count));
  Rng(3).fill_normal(x, 0, 1);
  return x;
}

Model fp8_model(const Model& model, const CalibrationOptions& options = {}) {
  Model result = quantize_model(model, fp8_options());
  calibrate(
      result, [&](const Model& m) { (void)m.predict(fp8_images(model, 8)); },
      options);
  return result;
}

TEST(Fp8, SkipsLayersWithoutFp8Kernels) {
  const SymbolicTensor x = input({12, 10, 16}, "x");
  SymbolicTensor y = Conv2D({.filters = 32, .name = "sixteen_in"})(x);
  y = Conv2D({.filters = 24, .kernel_size = 6, .name = "large_kernel"})(y);
  y = Conv2D({.filters = 24, .name = "suited"})(y);
  y = Dense({.units = 15, .name = "fifteen"})(GlobalAveragePooling2D()(y));
  const Model model(x, Dense({.units = 20, .name = "head"})(y));
  std::vector<std::string> points;
  const Placement placement = place(model, fp8_options());
  for (const QdqPoint& point : placement.plan.points) {
    points.push_back(point.layer + " " + to_string(point.site));
  }
  EXPECT_THAT(points, ElementsAre("suited input 0", "suited kernel"));
  EXPECT_EQ(std::ranges::count(placement.notes, "P32", &PlacementNote::rule),
            4);  // head has 15 inputs
}

TEST(Fp8, ScalesAreTheRangeDividedBy448) {
  const Model model = fp8_model(doubling(16));
  const Tensor x = fp8_images(model, 8);
  const Quantizer& first = *activation_quantizers(model)[0].quantizer;
  EXPECT_EQ(first.scale(), absmax(x) / 448);
  EXPECT_EQ(first.config().high(), 448);
  EXPECT_EQ(range_text(first.config()), "fp8_e4m3 [-448,448]");
}

TEST(Fp8, CalibratesByPercentileAndSquareError) {
  const Model model = doubling(16);
  for (const Calibration method : {Calibration::percentile, Calibration::mse}) {
    const Model fp8 = fp8_model(model, {.method = method, .percentile = 90});
    const float scale =
        activation_quantizers(fp8)[0].quantizer->scale().value();
    EXPECT_GT(scale, 0);
    EXPECT_LE(scale, absmax(fp8_images(model, 8)) / 448);
  }
  EXPECT_THROW((void)fp8_model(model, {.method = Calibration::entropy}),
               ValueError);
}

TEST(Fp8, SessionsHaveTheModelsBits) {
  for (const char* name : {"resnet20", "mobilenet_v2", "vit_tiny"}) {
    const Model model =
        fp8_model(zoo::make(name, {.input = {32, 48, 3}, .classes = 10}));
    ASSERT_FALSE(quantizers(model).empty()) << name;
    const Tensor x = fp8_images(model, 3);
    const Variable expected = [&] {
      const NoGradGuard no_grad;
      return model(Variable(x));
    }();
    const InferenceSession session(model, {.max_batch = 3});
    const Tensor y = session.run(x);
    EXPECT_THAT(values(Variable(y)), values(expected)) << name;
  }
}

TEST(Fp8, PlansAndStatesAreRestored) {
  const Model model = zoo::make("resnet8", {});
  const QdqPlan plan = place(model, fp8_options()).plan;
  const QdqPlan loaded = plan_from_config(to_config(plan));
  EXPECT_EQ(loaded, plan);
  const Model a = fp8_model(model);
  const Model b = model_from_state(state_of(a.clone()));
  const Tensor x = fp8_images(model, 2);
  EXPECT_THAT(values(Variable(b.predict(x))), values(Variable(a.predict(x))));
}

TEST(Fp8, RejectsOptionsOfIntegers) {
  const Model model = doubling(16);
  QuantizeOptions options = fp8_options();
  options.bits = {{.layer = "*", .weight = 4}};
  EXPECT_THROW((void)quantize_model(model, options), ValueError);
  options = fp8_options();
  options.policy = Policy::tflite;
  EXPECT_THROW((void)quantize_model(model, options), ValueError);
  QuantizerConfig config = activation_quantizer(kFp8);
  config.is_signed = false;
  EXPECT_THROW(Quantizer("q", config), ValueError);
  EXPECT_THROW(expect_for_weight("w", {.bits = 16}), UnsupportedError);
  config = activation_quantizer(kFp8);
  config.rule = ScaleRule::learned_clip;
  EXPECT_THROW(Quantizer("q", config), ValueError);
}

}  // namespace
}  // namespace octet::quant
