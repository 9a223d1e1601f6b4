// INT4 weights in blocks: placement, scales, rounding.
#include <algorithm>
#include <string>
#include <vector>

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
using ::testing::IsEmpty;

QuantizeOptions w4a16(int64_t block, ScaleRule rule = ScaleRule::live) {
  QuantizeOptions options{.weight = int4_weight_quantizer(block),
                          .weights_only = true};
  options.weight.rule = rule;
  return options;
}

Model mlp() {
  const SymbolicTensor x = input({70}, "x");
  const SymbolicTensor y = Dense({.units = 33, .activation = "relu"})(x);
  return Model(x, Dense({.units = 17})(y));
}

TEST(Int4Blocks, QuantizeKernelsOfDenseLayersAlone) {
  const SymbolicTensor x = input({12, 10, 32}, "x");
  SymbolicTensor y = Conv2D({.filters = 32, .name = "conv"})(x);
  y = Dense({.units = 32, .name = "of_images"})(y);
  y = Dense({.units = 40, .name = "hidden"})(GlobalAveragePooling2D()(y));
  const Model model(x, Dense({.units = 10, .name = "tiny"})(y));
  std::vector<std::string> points;
  const Placement placement = place(model, w4a16(16));
  for (const QdqPoint& point : placement.plan.points) {
    points.push_back(point.layer + " " + to_string(point.site));
  }
  EXPECT_THAT(points, ElementsAre("hidden kernel"));
  EXPECT_EQ(std::ranges::count(placement.notes, "P33", &PlacementNote::rule),
            4);  // and the average pooling
}

TEST(Int4Blocks, HaveAScaleForEachBlockOfInputs) {
  for (const ScaleRule rule : {ScaleRule::live, ScaleRule::fixed}) {
    Model model = quantize_model(mlp(), w4a16(32, rule));
    calibrate(model, [](const Model&) {});
    const PlacedQuantizer weight = weight_quantizers(model)[0];
    const Parameter kernel =
        float_layer(*model.layers()[1]).parameter("kernel");
    const Tensor& w = kernel.variable.value();
    const QuantParams qparams = weight.quantizer->qparams(w, 1);
    EXPECT_EQ(qparams.scale.shape(), (Shape{3, 33}));  // 32, 32 and 6 inputs
    EXPECT_EQ(qparams.axis, 0);
    for (int64_t b = 0; b < 3; ++b) {
      for (int64_t n = 0; n < 33; ++n) {
        float top = 0;
        for (int64_t k = 32 * b; k < std::min<int64_t>(32 * b + 32, 70); ++k) {
          top = std::max(top,
                         std::fabs(w.f32()[static_cast<size_t>(k * 33 + n)]));
        }
        EXPECT_EQ(qparams.scale.f32()[static_cast<size_t>(b * 33 + n)],
                  top / 7);
      }
    }
  }
}

TEST(Int4Blocks, SquareErrorAndSecondOrderRoundingReduceTheError) {
  const Model model = mlp();
  Tensor x({200, 70});
  Rng(5).fill_normal(x, 0, 1);
  const Tensor expected = model.predict(x);
  const auto error_of = [&](const Model& int4) {
    const Tensor y = int4.predict(x);
    double error = 0;
    for (size_t i = 0; i < y.f32().size(); ++i) {
      const double e = y.f32()[i] - expected.f32()[i];
      error += e * e;
    }
    return error;
  };
  const auto by = [&](WeightRange range) {
    Model int4 = quantize_model(model, w4a16(16, ScaleRule::fixed));
    calibrate(int4, [](const Model&) {}, {.weights = range});
    return int4;
  };
  const Model nearest = by(WeightRange::max);
  const Model clipped = by(WeightRange::mse);
  EXPECT_LT(error_of(clipped), error_of(nearest));
  Model rounded = clipped.clone();
  round_weights(rounded, Dataset::unlabeled({{"x", x}}));
  EXPECT_LT(error_of(rounded), 0.8 * error_of(clipped));
}

TEST(Int4Blocks, SessionsAndRestoredStatesHaveTheModelsBits) {
  Model model = quantize_model(mlp(), w4a16(16, ScaleRule::fixed));
  calibrate(model, [](const Model&) {}, {.weights = WeightRange::mse});
  Tensor x({5, 70});
  Rng(5).fill_normal(x, 0, 1);
  const Tensor expected = model.predict(x);
  const InferenceSession session(model, {.max_batch = 5});
  EXPECT_THAT(values(Variable(session.run(x))), values(Variable(expected)));
  const Model restored = model_from_state(state_of(model.clone()));
  EXPECT_THAT(values(Variable(restored.predict(x))),
              values(Variable(expected)));
  const QdqPlan plan = plan_of(model);
  EXPECT_EQ(plan_from_config(to_config(plan)), plan);
}

TEST(Int4Blocks, RejectKernelsAndOptionsThatDoNotFit) {
  QuantizerConfig config = int4_weight_quantizer(16);
  EXPECT_THROW(
      (void)Quantizer("q", config).qparams(Tensor::zeros({3, 3, 2, 4}), -1),
      UnsupportedError);
  config.per_channel = true;
  EXPECT_THROW(Quantizer("q", config), ValueError);
  config = int4_weight_quantizer(1);
  EXPECT_THROW(Quantizer("q", config), ValueError);
  config = int4_weight_quantizer(16);
  config.rule = ScaleRule::learned;
  EXPECT_THROW(Quantizer("q", config), ValueError);
  EXPECT_THROW(expect_for_activation("x", int4_weight_quantizer(16)),
               UnsupportedError);
}

}  // namespace
}  // namespace octet::quant
