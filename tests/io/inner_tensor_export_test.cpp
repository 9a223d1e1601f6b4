// No product of an exported file is partly INT8 unless requested: data and
// weights come from DequantizeLinear, or neither.
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <octet/io/onnx.h>

#include "onnx/graph/graph.h"
#include "tests/quant/folding.h"

namespace octet::io {
namespace {

onnx::ModelProto exported(Model quantized) {
  for (const auto& quantizer : quant::quantizers(quantized)) {
    if (!quantizer->calibrated()) quantizer->set_scale(0.05f);
  }
  onnx::ModelProto proto;
  EXPECT_TRUE(proto.ParseFromString(to_onnx(quantized).bytes));
  return proto;
}

/// Whether a value comes from DequantizeLinear, possibly by data movement.
bool is_int8(const OnnxGraph& graph, const std::string& value) {
  const OnnxNode* producer = graph.producer(value);
  while (producer != nullptr) {
    const std::string& op = producer->op_type();
    if (op == "DequantizeLinear") return true;
    if (op != "Transpose" && op != "Reshape" && op != "Pad") return false;
    producer = graph.producer(producer->input(0));
  }
  return false;
}

void expect_whole(const onnx::ModelProto& proto, int products) {
  const OnnxGraph graph(proto);
  const std::set<std::string> kinds{"Conv", "ConvTranspose", "Gemm", "MatMul"};
  int seen = 0;
  for (const onnx::NodeProto& node : proto.graph().node()) {
    if (!kinds.contains(node.op_type())) continue;
    ++seen;
    EXPECT_TRUE(is_int8(graph, node.input(0))) << node.name();
    EXPECT_TRUE(is_int8(graph, node.input(1))) << node.name();
  }
  EXPECT_EQ(seen, products);
}

TEST(InnerTensorExport, BothConvolutionsOfASeparableOneConsumeInt8) {
  const SymbolicTensor x = input({6, 5, 3}, "x");
  const Model model(
      x,
      SeparableConv2D({.filters = 4, .depth_multiplier = 2, .name = "sep"})(x));
  const onnx::ModelProto proto = exported(quant::quantize_model(model));
  expect_whole(proto, 2);
  const OnnxGraph graph(proto);
  int64_t pairs = 0;
  for (const onnx::NodeProto& node : proto.graph().node()) {
    pairs += node.op_type() == "QuantizeLinear";
  }
  EXPECT_EQ(pairs, 4);
}

TEST(InnerTensorExport, NoLinearLayerIsPartlyInt8) {
  for (const auto& kind : linear_kinds()) {
    SCOPED_TRACE(kind.name);
    const SymbolicTensor x = input(kind.sample, "x");
    const Model model(x, kind.make(true)(x));
    expect_whole(exported(quant::quantize_model(model)),
                 kind.name.starts_with("SeparableConv") ? 2 : 1);
  }
}

}  // namespace
}  // namespace octet::io
