// Q/DQ for ONNX Runtime's integer kernels; tests/oracle/count_integers.py
// checks them there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support.h"

namespace octet::quant {
namespace {

using ::testing::Contains;

PatternPlacement place_for_onnxruntime(const Model& model) {
  return place_by_patterns(model, onnxruntime_patterns(),
                           {.activation = {.is_signed = false}},
                           onnxruntime_conversions());
}

/// Formats as "conv output uint8".
std::vector<std::string> points_of(const QdqPlan& plan) {
  std::vector<std::string> result;
  for (const QdqPoint& point : plan.points) {
    result.push_back(point.layer + " " + to_string(point.site) +
                     (point.config.is_signed ? " int8" : " uint8"));
  }
  return result;
}

TEST(OnnxRuntimePatterns, PlaceQdqOnBothSidesOfAConvolution) {
  const SymbolicTensor x = input({8, 7, 3}, "x");
  SymbolicTensor y = Conv2D({.filters = 5, .name = "conv"})(x);
  y = BatchNormalization({.name = "norm"})(y);
  y = ReLU({.max_value = 6, .name = "relu"})(y);
  y = Conv2D({.filters = 5, .name = "linear"})(y);
  y = Flatten()(Add({.name = "add"})({y, y}));
  const Model model(x, Dense({.units = 2, .name = "logits"})(y));
  EXPECT_THAT(
      points_of(place_for_onnxruntime(model).placement.plan),
      ::testing::ElementsAre(
          "conv input 0 int8", "conv kernel int8", "relu output uint8",
          "linear input 0 uint8", "linear kernel int8", "linear output int8",
          "add input 0 int8", "add input 1 int8", "add output int8",
          "logits input 0 int8", "logits kernel int8"));
}

TEST(OnnxRuntimePatterns, SplitActivationsBeyondClipping) {
  const SymbolicTensor x = input({8, 7, 3}, "x");
  SymbolicTensor y =
      Conv2D({.filters = 17, .activation = "swish", .name = "conv"})(x);
  y = Conv2D({.filters = 4, .activation = "relu", .name = "bounded"})(y);
  y = GlobalAveragePooling2D()(y);
  const Model model(
      x, Dense({.units = 3, .activation = "softmax", .name = "last"})(y));
  const PatternPlacement placed = place_for_onnxruntime(model);
  ASSERT_EQ(placed.report.conversions.size(), 1u);
  EXPECT_EQ(placed.report.conversions[0].layer, "conv");
  EXPECT_THAT(points_of(placed.placement.plan), Contains("conv output int8"));
  EXPECT_THAT(points_of(placed.placement.plan),
              Contains("bounded output uint8"));
  const Tensor data = noise({3, 8, 7, 3});
  EXPECT_EQ(values(placed.model.predict(data)), values(model.predict(data)));
}

}  // namespace
}  // namespace octet::quant
