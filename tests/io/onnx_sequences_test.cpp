// Sequences [n,l,c] in ONNX: [n,c,l] from input to output if convolutions
// consume them, transposed for other layers, with Q/DQ next to the convolution.
#include <algorithm>
#include <map>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <octet/io/onnx_reference.h>
#include <octet/layers/layers.h>
#include <octet/quant/quant.h>

#include "../layers/support.h"
#include "support.h"

namespace octet::io {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

onnx::ModelProto exported(const Model& model) {
  onnx::ModelProto proto;
  proto.ParseFromString(to_onnx(model).bytes);
  return proto;
}

std::vector<std::string> ops(const onnx::ModelProto& proto) {
  std::vector<std::string> result;
  for (const auto& node : proto.graph().node()) {
    result.push_back(node.op_type());
  }
  return result;
}

std::vector<int64_t> dims(const onnx::ValueInfoProto& value) {
  std::vector<int64_t> result;
  for (const auto& dim : value.type().tensor_type().shape().dim()) {
    result.push_back(dim.has_dim_value() ? dim.dim_value() : -1);
  }
  return result;
}

std::vector<std::pair<std::string, std::string>> metadata(
    const onnx::ModelProto& proto) {
  std::vector<std::pair<std::string, std::string>> result;
  for (const auto& entry : proto.metadata_props()) {
    result.emplace_back(entry.key(), entry.value());
  }
  return result;
}

/// Compares model and file, which has [n,c,l], on noise.
void expect_same_in_onnx(const Model& model, float tolerance = 2e-6f) {
  const OnnxReference file = onnx_reference_from_bytes(to_onnx(model).bytes);
  const Tensor x = noise(model.inputs()[0].shape().with(0, 3));
  const Tensor expected = model.predict(x);
  const Tensor y = file.predict(x.transposed({0, 2, 1}));
  ASSERT_EQ(y.shape(), expected.shape());
  for (size_t i = 0; i < y.f32().size(); ++i) {
    ASSERT_NEAR(y.f32()[i], expected.f32()[i], tolerance) << i;
  }
}

TEST(OnnxSequences, HaveTheirChannelsFirstFromInputToOutput) {
  const SymbolicTensor x = input({11, 3}, "x");
  SymbolicTensor y = Rescaling({.scale = {0.5f}})(x);
  y = Conv1D({.filters = 4, .padding = "causal", .dilation_rate = 2})(y);
  y = ReLU()(BatchNormalization()(y));
  y = Add()({DepthwiseConv1D({.padding = "same"})(y), y});
  y = MaxPooling1D()(ZeroPadding1D()(y));
  const onnx::ModelProto proto = exported(Model(x, Dense({.units = 5})(y)));
  EXPECT_THAT(ops(proto),
              ElementsAre("Mul", "Conv", "BatchNormalization", "Relu", "Conv",
                          "Add", "Pad", "MaxPool", "Conv"));
  EXPECT_THAT(dims(proto.graph().input(0)), ElementsAre(-1, 3, 11));
  EXPECT_THAT(dims(proto.graph().output(0)), ElementsAre(-1, 5, 6));
  EXPECT_THAT(metadata(proto), ElementsAre(Pair("input_layout", "NCL"),
                                           Pair("output_layout", "NCL")));
  const onnx::NodeProto& conv = proto.graph().node(1);
  for (const auto& attribute : conv.attribute()) {
    if (attribute.name() == "pads") {
      EXPECT_THAT(attribute.ints(), ElementsAre(4, 0));
    } else if (attribute.name() == "dilations") {
      EXPECT_THAT(attribute.ints(), ElementsAre(2));
    }
  }
}

TEST(OnnxSequences, OfTokensAreNotTransposed) {
  const SymbolicTensor x = input({7, 5}, "x");
  const onnx::ModelProto proto =
      exported(Model(x, LayerNormalization()(Dense({.units = 4})(x))));
  EXPECT_THAT(dims(proto.graph().input(0)), ElementsAre(-1, 7, 5));
  EXPECT_THAT(metadata(proto), ElementsAre());
}

// Consumers of one sequence need both layouts: it is transposed once.
TEST(OnnxSequences, AreTransposedOnceForAllConsumers) {
  const SymbolicTensor x = input({7, 4}, "x");
  const SymbolicTensor y = Conv1D({.filters = 4, .padding = "same"})(x);
  const SymbolicTensor p = Permute({.dims = {2, 1}})(y);
  const SymbolicTensor q = SelectToken({.index = 2})(y);
  const SymbolicTensor r = PositionEmbedding()(y);
  const onnx::ModelProto proto = exported(Model({x}, {p, q, r, y}));
  const std::vector<std::string> nodes = ops(proto);
  // The Permute is the order of the convolution.
  EXPECT_EQ(std::ranges::count(nodes, "Transpose"), 1);
}

TEST(OnnxSequences, MatchTheModel) {
  const SymbolicTensor x = input({12, 3}, "x");
  SymbolicTensor y = Conv1D(
      {.filters = 6, .kernel_size = 4, .strides = 2, .padding = "same"})(x);
  SymbolicTensor gate = GlobalAveragePooling1D()(y);
  gate = Dense({.units = 6, .activation = "sigmoid"})(gate);
  y = Multiply()({y, gate});  // [n,l,c] and [n,c]
  const SymbolicTensor soft = Softmax({.axis = 1})(y);
  y = Concatenate({.axis = 1})({soft, LayerNormalization()(y)});
  y = UpSampling1D()(SeparableConv1D({.filters = 5})(y));
  y = PositionEmbedding()(y);
  y = AveragePooling1D({.pool_size = 3, .padding = "same"})(y);
  y = Flatten()(Cropping1D({.cropping = {0, 2}})(y));
  Model model(x, Dense({.units = 4})(BatchNormalization()(y)));
  shake(model);
  expect_same_in_onnx(model, 1e-5f);
}

// [n,l] becomes one channel without a Transpose.
TEST(OnnxSequences, OfOneChannelNeedNoTranspose) {
  const SymbolicTensor x = input({20}, "x");
  SymbolicTensor y = Reshape({.target_shape = {-1, 1}})(x);
  y = Conv1D({.filters = 2})(y);
  const onnx::ModelProto proto = exported(Model(x, Flatten()(y)));
  EXPECT_THAT(ops(proto),
              ElementsAre("Reshape", "Conv", "Transpose", "Flatten"));
}

TEST(OnnxSequences, AreQuantizedRightBeforeTheConvolution) {
  const SymbolicTensor x = input({16, 3}, "x");
  SymbolicTensor y = Conv1D({.filters = 5, .name = "first"})(x);
  y = ReLU()(BatchNormalization()(y));
  y = PositionEmbedding()(y);  // which has [n,l,c]
  y = DepthwiseConv1D({.depth_multiplier = 2, .name = "each"})(y);
  y = SeparableConv1D({.filters = 4, .name = "both"})(y);
  Model model(x, Dense({.units = 3})(GlobalAveragePooling1D()(y)));
  shake(model);
  Model int8 = quant::quantize_model(model);
  const Tensor data = noise({8, 16, 3});
  (void)quant::calibrate(int8, [&](const Model& m) { (void)m.predict(data); });
  const onnx::ModelProto proto = exported(int8);
  std::map<std::string, const onnx::NodeProto*> producers;
  for (const auto& node : proto.graph().node())
    producers[node.output(0)] = &node;
  int convolutions = 0;
  for (const auto& node : proto.graph().node()) {
    if (node.op_type() != "Conv") continue;
    ++convolutions;
    for (const int i : {0, 1}) {
      const auto* dq = producers.at(node.input(i));
      ASSERT_EQ(dq->op_type(), "DequantizeLinear") << node.name();
      ASSERT_EQ(producers.at(dq->input(0))->op_type(), "QuantizeLinear");
      // Weights along their output channels.
      for (const auto& attribute : dq->attribute()) {
        if (i == 1 && attribute.name() == "axis") {
          EXPECT_EQ(attribute.i(), 0);
        }
      }
    }
  }
  EXPECT_EQ(convolutions, 4);
  // Different rounding of sums may change a quantized value by one step.
  expect_same_in_onnx(int8, 0.05f);
}

}  // namespace
}  // namespace octet::io
