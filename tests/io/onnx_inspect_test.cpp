#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/io/onnx.h>

#include "onnx_models.h"
#include "support.h"

namespace octet::io {
namespace {

using ::testing::ElementsAre;

class InspectOnnx : public ::testing::Test {
 protected:
  OnnxSummary inspect(const onnx::ModelProto& model) {
    save(model, folder_ / "model.onnx");
    return inspect_onnx(folder_ / "model.onnx");
  }

  TempFolder folder_;
};

TEST_F(InspectOnnx, ReportsModelMetadata) {
  onnx::ModelProto model = quantized_model();
  model.set_producer_name("somebody");
  model.set_producer_version("1.2");
  model.set_doc_string("a model");
  const OnnxSummary summary = inspect(model);
  EXPECT_EQ(
      summary.bytes,
      static_cast<int64_t>(std::filesystem::file_size(folder_ / "model.onnx")));
  EXPECT_EQ(summary.ir_version, 7);
  EXPECT_EQ(summary.opset, 13);
  EXPECT_EQ(summary.producer, "somebody 1.2");
  EXPECT_EQ(summary.description, "a model");
  EXPECT_EQ(summary.initializers, 5);
  EXPECT_EQ(summary.parameters, 108 + 1 + 1 + 4 + 4);
}

TEST_F(InspectOnnx, ListsInputsAndOutputsWithTypeAndShape) {
  const OnnxSummary summary = inspect(quantized_model());
  ASSERT_EQ(summary.inputs.size(), 1u);
  EXPECT_EQ(summary.inputs[0].name, "x");
  EXPECT_EQ(summary.inputs[0].type, "float32");
  EXPECT_EQ(to_string(summary.inputs[0].shape), "[N,3,8,8]");
  ASSERT_EQ(summary.outputs.size(), 1u);
  EXPECT_EQ(to_string(summary.outputs[0].shape), "[N,4,6,6]");
}

TEST_F(InspectOnnx, DoesNotCountInitializersAsInputs) {
  onnx::ModelProto model = quantized_model();
  auto* input = model.mutable_graph()->add_input();
  input->set_name("xs");
  auto* type = input->mutable_type()->mutable_tensor_type();
  type->set_elem_type(onnx::TensorProto::FLOAT);
  type->mutable_shape();
  EXPECT_EQ(inspect(model).inputs.size(), 1u);
}

TEST_F(InspectOnnx, InfersTheShapeOfEveryOutput) {
  const OnnxSummary summary = inspect(
      model_of("g (float[N,3,8,8] x) => (float[N,3] y) {\n"
               "  a = MaxPool <kernel_shape = [2,2], strides = [2,2]> (x)\n"
               "  b = GlobalAveragePool (a)\n"
               "  y = Flatten (b)\n"
               "}"));
  ASSERT_EQ(summary.nodes.size(), 3u);
  EXPECT_EQ(summary.nodes[0].op, "MaxPool");
  EXPECT_EQ(to_string(summary.nodes[0].shape), "[N,3,4,4]");
  EXPECT_EQ(to_string(summary.nodes[1].shape), "[N,3,1,1]");
  EXPECT_THAT(summary.nodes[2].inputs, ElementsAre("b"));
  EXPECT_THAT(summary.nodes[2].outputs, ElementsAre("y"));
}

TEST_F(InspectOnnx, KeepsTheNamesOfDynamicSizes) {
  const OnnxSummary summary =
      inspect(model_of("g (float[N,M,4] x) => (float[N,M,4] y) {\n"
                       "  y = Relu (x)\n"
                       "}"));
  const OnnxShape expected = {{"N", "M", int64_t{4}}};
  EXPECT_EQ(summary.inputs[0].shape, expected);
  EXPECT_EQ(summary.nodes[0].shape, expected);
}

TEST_F(InspectOnnx, ListsPairsOfActivationsAndWeights) {
  const OnnxSummary summary = inspect(quantized_model());
  ASSERT_EQ(summary.qdq_pairs.size(), 2u);
  const OnnxQdqPair& activation = summary.qdq_pairs[0];
  EXPECT_EQ(activation.tensor, "x");
  EXPECT_EQ(activation.kind, "activation");
  EXPECT_EQ(activation.type, "int8");
  EXPECT_EQ(activation.consumer, "conv");
  EXPECT_FALSE(activation.axis.has_value());
  EXPECT_EQ(activation.scales, 1);
  EXPECT_EQ(activation.smallest_scale, 0.02f);
  const OnnxQdqPair& weight = summary.qdq_pairs[1];
  EXPECT_EQ(weight.tensor, "w");
  EXPECT_EQ(weight.kind, "weight");
  EXPECT_EQ(weight.axis, 0);
  EXPECT_EQ(weight.scales, 4);
  EXPECT_EQ(weight.smallest_scale, 0.1f);
  EXPECT_EQ(weight.largest_scale, 0.4f);
}

TEST_F(InspectOnnx, NormalizesNegativeAxes) {
  onnx::ModelProto model = quantized_model();
  for (const int node : {2, 3}) {
    attribute(*model.mutable_graph()->mutable_node(node), "axis").set_i(-4);
  }
  EXPECT_EQ(inspect(model).qdq_pairs[1].axis, 0);
}

TEST_F(InspectOnnx, TreatsAListOfOneScaleAsPerTensor) {
  onnx::ModelProto model = quantized_model();
  initializer(model, "xs") = float_tensor("xs", {1}, {0.02f});
  initializer(model, "xz") = int8_tensor("xz", {1}, {0});
  const OnnxSummary summary = inspect(model);
  EXPECT_FALSE(summary.qdq_pairs[0].axis.has_value());
}

TEST_F(InspectOnnx, ListsStoredIntegersOfALoneDequantizeLinear) {
  onnx::ModelProto model = model_of(
      "g (float[N,2] x) => (float[N,2] y) {\n"
      "  wd = DequantizeLinear <axis = 0> (wq, ws, wz)\n"
      "  y = Gemm <transB = 1> (x, wd)\n"
      "}");
  auto& graph = *model.mutable_graph();
  *graph.add_initializer() = int8_tensor("wq", {2, 2}, {1, 2, 3, -127});
  *graph.add_initializer() = float_tensor("ws", {2}, {0.5f, 0.25f});
  *graph.add_initializer() = int8_tensor("wz", {2}, {0, 0});
  const OnnxSummary summary = inspect(model);
  ASSERT_EQ(summary.qdq_pairs.size(), 1u);
  EXPECT_EQ(summary.qdq_pairs[0].tensor, "wq");
  EXPECT_EQ(summary.qdq_pairs[0].kind, "weight");
  EXPECT_EQ(summary.qdq_pairs[0].type, "int8");
}

TEST_F(InspectOnnx, NamesTheTypeOfAMissingZeroPoint) {
  onnx::ModelProto model = model_of(
      "g (float[4] x, float s) => (float[4] y) {\n"
      "  q = QuantizeLinear (x, c)\n"
      "  y = DequantizeLinear (q, c)\n"
      "}");
  *model.mutable_graph()->add_initializer() = float_tensor("c", {}, {0.5f});
  const OnnxSummary summary = inspect(model);
  ASSERT_EQ(summary.qdq_pairs.size(), 1u);
  EXPECT_EQ(summary.qdq_pairs[0].type, "uint8");
  EXPECT_EQ(summary.qdq_pairs[0].consumer, "");
}

}  // namespace
}  // namespace octet::io
