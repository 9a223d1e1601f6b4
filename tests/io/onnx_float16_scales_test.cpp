// Scales that float16 does not represent. tests/oracle/compare_forms.py runs
// such a file in ONNX Runtime.
#include <cmath>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <octet/io/onnx.h>
#include <octet/io/onnx_reference.h>
#include <octet/layers/layers.h>
#include <octet/quant/quant.h>

#include "../facts.h"
#include "onnx/check/check.h"
#include "onnx/export/graph_passes.h"
#include "onnx_models.h"
#include "support.h"

namespace octet::io {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::IsSupersetOf;

constexpr float kInputs = 200;  // of INT8 values, whose weights are small

Tensor inputs() {
  Tensor x = noise({2, 4, 4, 3});
  for (float& value : x.f32()) value *= kInputs;
  return x;
}

/// A convolution with weights per channel up to `largest`.
Model convolution(const std::vector<float>& largest) {
  const SymbolicTensor x = input({4, 4, 3});
  const Model model(x, Conv2D({.filters = static_cast<int>(largest.size()),
                               .kernel_size = {2, 2},
                               .name = "conv"})(x));
  for (const Parameter& p : model.parameters()) {
    if (p.name != "kernel") continue;
    Tensor values(p.variable.shape());
    Rng(5).fill_uniform(values, -1, 1);
    size_t i = 0;
    for (float& weight : p.variable.mutable_value()) {
      weight = values.f32()[i] * largest[i % largest.size()];
      ++i;
    }
  }
  Model quantized = quant::quantize_model(model);
  quant::calibrate(quantized,
                   [](const Model& m) { (void)m.predict(inputs()); });
  return quantized;
}

const OnnxExportOptions kHalf = {
    .opset = 19, .weights = OnnxWeights::int8, .float16 = true};

Tensor nchw(const Tensor& x) { return x.transposed({0, 3, 1, 2}); }

void expect_near(const Tensor& y, const Tensor& expected, float tolerance) {
  ASSERT_EQ(y.shape(), expected.shape());
  for (size_t i = 0; i < y.f32().size(); ++i) {
    EXPECT_NEAR(y.f32()[i], expected.f32()[i], tolerance) << i;
  }
}

TEST(OnnxFloat16Scales, SmallOnesStayFloat32) {
  const Model model = convolution({2e-4f, 3e-4f});
  const WarningCapture warnings;
  const OnnxFile file = to_onnx(model, kHalf);
  ASSERT_THAT(warnings.messages,
              ElementsAre(Failure{"float16_scale", "ONNX float16"}));
  EXPECT_THAT(quoted_names(warnings.messages[0].text()),
              ElementsAre("quant_conv/kernel/scale"));
  // The smallest scale that float16 represents, and the smallest of the model.
  EXPECT_THAT(numbers_in(warnings.messages[0].text()),
              IsSupersetOf({7.6e-6, 1.5e-6}));
  const Tensor x = nchw(inputs());
  const Tensor expected =
      onnx_reference_from_bytes(to_onnx(model).bytes).predict(x);
  expect_near(onnx_reference_from_bytes(file.bytes).predict(x), expected,
              5e-3f);
  int floats = 0;
  const onnx::ModelProto stored = parse_onnx(file.bytes);
  for (const auto& tensor : stored.graph().initializer()) {
    floats += tensor.data_type() == onnx::TensorProto::FLOAT;
  }
  EXPECT_EQ(floats, 1);
}

TEST(OnnxFloat16Scales, ChannelsThatVanishBecomeZero) {
  const Model model = convolution({0.5f, 1e-12f});
  const WarningCapture warnings;
  const OnnxFile file = to_onnx(model, kHalf);
  EXPECT_THAT(warnings.messages, IsEmpty());
  const Tensor x = nchw(inputs());
  const Tensor expected =
      onnx_reference_from_bytes(to_onnx(model).bytes).predict(x);
  const Tensor y = onnx_reference_from_bytes(file.bytes).predict(x);
  // Inputs in float16 may round to a neighboring INT8 value.
  const float step = kInputs / 127 * 0.5f;
  expect_near(y, expected, 2 * step);
  for (int64_t n = 0; n < y.shape()[0]; ++n) {
    for (size_t i = 9; i < 18; ++i) {  // the second channel of 3x3
      const size_t at = static_cast<size_t>(n) * 18 + i;
      EXPECT_NEAR(y.f32()[at], expected.f32()[at], 1e-3f) << at;
    }
  }
}

// ONNX Runtime 1.31 divides a bias before QuantizeLinear by the scales of data
// and weights in float16, which overflows.
TEST(OnnxFloat16Scales, ABiasBeforeAQuantizerIsAnAdd) {
  const SymbolicTensor x = input({4, 4, 3});
  const auto conv = [](int filters) {
    return Conv2D({.filters = filters,
                   .kernel_size = {2, 2},
                   .bias_initializer = ones()});
  };
  Model model = quant::quantize_model(Model(x, conv(2)(conv(4)(x))));
  quant::calibrate(model, [](const Model& m) {
    (void)m.predict(noise({2, 4, 4, 3}));
  });
  const OnnxFile file = to_onnx(model, kHalf);
  const auto proto = parse_onnx(file.bytes);
  std::vector<std::string> operators;
  for (const auto& node : proto.graph().node()) {
    if (node.op_type() == "Conv" || node.op_type() == "Add") {
      operators.push_back(
          fmt::format("{} of {}", node.op_type(), node.input_size()));
    }
  }
  EXPECT_THAT(operators, ElementsAre("Conv of 2", "Add of 2", "Conv of 3"));
  const Tensor samples = noise({2, 4, 4, 3});
  expect_near(onnx_reference_from_bytes(file.bytes).predict(nchw(samples)),
              nchw(model.predict(samples)), 0.03f);
}

TEST(OnnxFloat16Scales, RejectsWeightsBeyondFloat16) {
  const Model model = convolution({70000.0f});
  EXPECT_EQ(failure_of<ValueError>([&] { (void)to_onnx(model, kHalf); }),
            (Failure{"out_of_range", "initializer 'quant_conv/kernel'"}));
}

TEST(OnnxFloat16Scales, FitsWeightsOfEitherAxis) {
  onnx::ModelProto model;
  model.add_opset_import()->set_version(19);
  auto& graph = *model.mutable_graph();
  auto& node = *graph.add_node();
  node.set_op_type("DequantizeLinear");
  for (const char* name : {"w", "s", "z"}) node.add_input(name);
  node.add_output("d");
  auto& axis = *node.add_attribute();
  axis.set_name("axis");
  axis.set_type(onnx::AttributeProto::INT);
  axis.set_i(1);
  auto& weights = *graph.add_initializer();
  weights.set_name("w");
  weights.set_data_type(onnx::TensorProto::INT8);
  for (const int size : {2, 3, 2}) weights.add_dims(size);
  weights.set_raw_data(std::string(12, 5));
  *graph.add_initializer() = float_tensor("s", {3}, {0.5f, 1e-12f, 0.25f});
  OnnxGraph changed(std::move(model));
  fit_weights_to_float16(changed);
  std::vector<int> values;
  for (const char value : changed.tensor("w")->raw_data()) {
    values.push_back(value);
  }
  EXPECT_THAT(values, ElementsAre(5, 5, 0, 0, 5, 5, 5, 5, 0, 0, 5, 5));
}

}  // namespace
}  // namespace octet::io
