// ONNX form of convolution layers other than Conv2D, parsed by the test.
#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <octet/io/onnx.h>
#include <octet/layers/layers.h>
#include <octet/quant/quant.h>

namespace octet::io {
namespace {

using ::testing::ElementsAre;

onnx::GraphProto graph_of(const LayerHandle& layer, bool quantized = false) {
  const SymbolicTensor x = input({6, 5, 3});
  Model model(x, layer(x));
  for (const Parameter& p : layer->parameters()) {
    float next = 1;
    for (float& v : p.variable.mutable_value()) v = next++;
  }
  if (quantized) {
    model = quant::quantize_model(model);
    for (const auto& each : quant::quantizers(model)) {
      if (each->config().rule == quant::ScaleRule::fixed) each->set_scale(1);
    }
  }
  onnx::ModelProto proto;
  proto.ParseFromString(to_onnx(model).bytes);
  return proto.graph();
}

const onnx::NodeProto& node(const onnx::GraphProto& graph,
                            const std::string& op,
                            const std::string& first_input = "") {
  for (const auto& node : graph.node()) {
    const bool reads = first_input.empty() || node.input(0) == first_input;
    if (node.op_type() == op && reads) return node;
  }
  throw std::runtime_error("no node " + op);
}

std::vector<int64_t> ints_of(const onnx::NodeProto& node,
                             const std::string& name) {
  for (const auto& attribute : node.attribute()) {
    if (attribute.name() != name) continue;
    if (attribute.ints_size() == 0) return {attribute.i()};
    return {attribute.ints().begin(), attribute.ints().end()};
  }
  throw std::runtime_error("no attribute " + name);
}

const onnx::TensorProto& tensor_named(const onnx::GraphProto& graph,
                                      const std::string& name) {
  for (const auto& tensor : graph.initializer()) {
    if (tensor.name() == name) return tensor;
  }
  throw std::runtime_error("no initializer " + name);
}

std::vector<float> values(const onnx::TensorProto& tensor) {
  std::vector<float> result(tensor.raw_data().size() / sizeof(float));
  std::memcpy(result.data(), tensor.raw_data().data(),
              tensor.raw_data().size());
  return result;
}

TEST(OnnxConvolution, DepthwiseHasOneGroupPerChannel) {
  const auto graph = graph_of(DepthwiseConv2D(
      {.kernel_size = {1, 2}, .depth_multiplier = 2, .name = "dw"}));
  EXPECT_THAT(ints_of(node(graph, "Conv"), "group"), ElementsAre(3));
  const auto& w = tensor_named(graph, "dw/depthwise_kernel");
  EXPECT_THAT(w.dims(), ElementsAre(6, 1, 1, 2));
  // [kw][c][m] numbered consecutively, as [c][m][kw].
  EXPECT_THAT(values(w), ElementsAre(1, 7, 2, 8, 3, 9, 4, 10, 5, 11, 6, 12));
}

TEST(OnnxConvolution, DepthwiseScalesAreRepeatedForTheMultiplier) {
  const auto graph = graph_of(
      DepthwiseConv2D(
          {.kernel_size = {1, 2}, .depth_multiplier = 2, .name = "dw"}),
      true);
  EXPECT_THAT(values(tensor_named(graph, "quant_dw/depthwise_kernel/scale")),
              ElementsAre(8 / 127.0f, 8 / 127.0f, 10 / 127.0f, 10 / 127.0f,
                          12 / 127.0f, 12 / 127.0f));
}

TEST(OnnxConvolution, GroupsAreAnAttribute) {
  const auto graph =
      graph_of(Conv2D({.filters = 6, .groups = 3, .name = "conv"}));
  EXPECT_THAT(ints_of(node(graph, "Conv"), "group"), ElementsAre(3));
  EXPECT_THAT(tensor_named(graph, "conv/kernel").dims(),
              ElementsAre(6, 1, 3, 3));
}

TEST(OnnxConvolution, SeparableIsTwoConvolutions) {
  const auto graph = graph_of(SeparableConv2D(
      {.filters = 4, .strides = {2, 2}, .depth_multiplier = 2, .name = "sep"}));
  ASSERT_EQ(graph.node_size(), 2);
  EXPECT_THAT(ints_of(graph.node(0), "group"), ElementsAre(3));
  EXPECT_THAT(ints_of(graph.node(0), "strides"), ElementsAre(2, 2));
  EXPECT_THAT(ints_of(graph.node(1), "group"), ElementsAre(1));
  EXPECT_THAT(ints_of(graph.node(1), "strides"), ElementsAre(1, 1));
  EXPECT_THAT(tensor_named(graph, "sep/pointwise_kernel").dims(),
              ElementsAre(4, 6, 1, 1));
}

TEST(OnnxConvolution, TransposeHasPadsOfItsOutputAndScalesOnAxisOne) {
  const auto graph = graph_of(Conv2DTranspose({.filters = 4,
                                               .kernel_size = {2, 4},
                                               .strides = {3, 2},
                                               .padding = Padding::same,
                                               .name = "up"}),
                              true);
  const auto& up = node(graph, "ConvTranspose");
  EXPECT_THAT(ints_of(up, "pads"), ElementsAre(0, 1, 0, 1));
  EXPECT_THAT(ints_of(up, "output_padding"), ElementsAre(1, 0));
  EXPECT_THAT(tensor_named(graph, "quant_up/kernel").dims(),
              ElementsAre(3, 4, 2, 4));
  EXPECT_EQ(tensor_named(graph, "quant_up/kernel/scale").dims(0), 4);
  const auto& pair = node(graph, "QuantizeLinear", "quant_up/kernel");
  EXPECT_THAT(ints_of(pair, "axis"), ElementsAre(1));
}

}  // namespace
}  // namespace octet::io
