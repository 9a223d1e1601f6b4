// Import of ONNX Runtime's QOperator form as layers with quantizers. The
// reference executor, which is bit-identical to ONNX Runtime, computes the
// expected values.
#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/io/onnx.h>
#include <octet/io/onnx_reference.h>
#include <octet/quant/quant.h>
#include <octet/runtime/rng.h>

#include "onnx_models.h"
#include "support.h"

namespace octet::io {
namespace {

void add_codes(onnx::GraphProto& graph, const std::string& name,
               const std::vector<int64_t>& dims, uint64_t seed) {
  const Tensor noise(Shape(std::span<const int64_t>(dims)), DType::f32);
  Tensor values = noise;
  Rng(seed).fill_uniform(values, -127, 127);
  onnx::TensorProto& tensor = *graph.add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(onnx::TensorProto::INT8);
  for (const int64_t dim : dims) tensor.add_dims(dim);
  for (const float value : values.f32()) {
    tensor.add_int32_data(static_cast<int32_t>(value));
  }
}

void add_bias(onnx::GraphProto& graph, const std::string& name, int64_t size) {
  onnx::TensorProto& tensor = *graph.add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(onnx::TensorProto::INT32);
  tensor.add_dims(size);
  for (int64_t i = 0; i < size; ++i) {
    tensor.add_int32_data(static_cast<int32_t>(400 * i - 900));
  }
}

void add_zero(onnx::GraphProto& graph, const std::string& name,
              onnx::TensorProto::DataType type, int value) {
  onnx::TensorProto& tensor = *graph.add_initializer();
  tensor.set_name(name);
  tensor.set_data_type(type);
  tensor.add_int32_data(value);
}

// A network in the form of onnxruntime.quantization; `zero` is the input's zero
// point.
std::string network(int zero = 0) {
  onnx::ModelProto model = model_of(
      "g (float[N,3,8,8] x) => (float[N,5] y) {\n"
      "  q = QuantizeLinear (x, xs, xz)\n"
      "  c = QLinearConv <pads = [1,1,1,1]> (q, xs, xz, w, ws, wz, cs, rz, b)\n"
      "  m = MaxPool <kernel_shape = [2,2], strides = [2,2]> (c)\n"
      "  d = QLinearConv <pads = [1,1,1,1]> (m, cs, rz, v, vs, wz, cs, rz)\n"
      "  a = QLinearAdd (m, cs, rz, d, cs, rz, as, wz)\n"
      "  p = QLinearGlobalAveragePool (a, as, wz, ps, wz)\n"
      "  f = Flatten (p)\n"
      "  g = QGemm <transB = 1> (f, ps, wz, u, us, wz, k, gs, wz)\n"
      "  y = DequantizeLinear (g, gs, wz)\n"
      "}");
  model.mutable_opset_import(0)->set_version(13);
  auto* microsoft = model.add_opset_import();
  microsoft->set_domain("com.microsoft");
  microsoft->set_version(1);
  auto& graph = *model.mutable_graph();
  for (auto& node : *graph.mutable_node()) {
    const std::string& op = node.op_type();
    if (op.starts_with("QLinear") && op != "QLinearConv") {
      node.set_domain("com.microsoft");
    }
    if (op == "QGemm") node.set_domain("com.microsoft");
  }
  *graph.add_initializer() = float_tensor("xs", {}, {0.011f});
  *graph.add_initializer() =
      float_tensor("ws", {4}, {0.004f, 0.003f, 0.006f, 0.005f});
  *graph.add_initializer() = float_tensor("vs", {}, {0.003f});
  *graph.add_initializer() = float_tensor("us", {}, {0.007f});
  *graph.add_initializer() = float_tensor("cs", {}, {0.013f});
  *graph.add_initializer() = float_tensor("as", {}, {0.027f});
  *graph.add_initializer() = float_tensor("ps", {}, {0.017f});
  *graph.add_initializer() = float_tensor("gs", {}, {0.021f});
  add_zero(graph, "xz", onnx::TensorProto::INT8, zero);
  add_zero(graph, "wz", onnx::TensorProto::INT8, 0);
  add_zero(graph, "rz", onnx::TensorProto::INT8, -128);  // after a ReLU
  add_codes(graph, "w", {4, 3, 3, 3}, 1);
  add_codes(graph, "v", {4, 4, 3, 3}, 2);
  add_codes(graph, "u", {5, 4}, 3);
  add_bias(graph, "b", 4);
  add_bias(graph, "k", 5);
  return model.SerializeAsString();
}

Tensor images() {
  Tensor x(Shape{3, 8, 8, 3}, DType::f32);
  Rng(7).fill_uniform(x, -1, 1);
  return x;
}

/// Expects equal quantized values and scales; not all of them 0 or saturated.
void expect_the_same(const Model& model, const std::string& file) {
  const Tensor x = images();
  const Tensor y = model.predict(x);
  const Tensor expected =
      onnx_reference_from_bytes(file).predict(x.transposed({0, 3, 1, 2}));
  ASSERT_EQ(y.shape(), expected.shape());
  std::set<float> seen;
  for (size_t i = 0; i < y.f32().size(); ++i) {
    EXPECT_NEAR(y.f32()[i], expected.f32()[i], 1e-6f);
    seen.insert(y.f32()[i]);
  }
  EXPECT_GE(seen.size(), 5u);
}

TEST(OnnxImportQoperator, BecomesLayersWithItsScalesAndValues) {
  const Model model = from_onnx(network());
  std::set<float> scales;
  for (const auto& placed : quant::activation_quantizers(model)) {
    scales.insert(placed.quantizer->scale().value());
  }
  EXPECT_EQ(scales, (std::set<float>{0.011f, 0.013f, 0.027f, 0.017f, 0.021f}));
  expect_the_same(model, network());
}

TEST(OnnxImportQoperator, OtherZeroPointsAreKeptOrDropped) {
  const Model model = from_onnx(network(9));
  EXPECT_EQ(quant::quantizers(model)[0]->config().zero_point, 137);
  expect_the_same(model, network(9));
  const Model dropped = from_onnx(network(9), {.drop_quantizers = true});
  EXPECT_TRUE(quant::quantizers(dropped).empty());
  const Tensor y = dropped.predict(images());
  EXPECT_EQ(y.shape(), (Shape{3, 5}));
}

// The border is a quantized value.
TEST(OnnxImportQoperator, QuantizedValuesAreSlicedTransposedAndPadded) {
  onnx::ModelProto model = model_of(
      "g (float[N,3,8,8] x) => (float[N,5,6,2] y) {\n"
      "  q = QuantizeLinear (x, s, z)\n"
      "  p = Pad (q, around, border)\n"
      "  a, b = Split <axis = 1> (p, parts)\n"
      "  c = Slice (b, first, last, axes)\n"
      "  t = Transpose <perm = [0,2,3,1]> (c)\n"
      "  y = DequantizeLinear (t, s, z)\n"
      "}");
  model.mutable_opset_import(0)->set_version(17);
  auto& graph = *model.mutable_graph();
  *graph.add_initializer() = float_tensor("s", {}, {0.013f});
  add_zero(graph, "z", onnx::TensorProto::UINT8, 100);
  add_zero(graph, "border", onnx::TensorProto::UINT8, 100);
  const auto add_integers = [&](const std::string& name,
                                const std::vector<int64_t>& values) {
    onnx::TensorProto& tensor = *graph.add_initializer();
    tensor.set_name(name);
    tensor.set_data_type(onnx::TensorProto::INT64);
    tensor.add_dims(static_cast<int64_t>(values.size()));
    tensor.mutable_int64_data()->Assign(values.begin(), values.end());
  };
  add_integers("around", {0, 0, 1, 1, 0, 0, 1, 1});
  add_integers("parts", {1, 2});
  add_integers("first", {0, 2});
  add_integers("last", {5, 8});
  add_integers("axes", {2, 3});
  const std::string file = model.SerializeAsString();
  expect_the_same(from_onnx(file), file);
}

TEST(OnnxImportQoperator, OperatorsWithChannelsLastAreRejected) {
  onnx::ModelProto model;
  ASSERT_TRUE(model.ParseFromString(network()));
  for (auto& node : *model.mutable_graph()->mutable_node()) {
    if (node.op_type() != "QLinearGlobalAveragePool") continue;
    auto* attribute = node.add_attribute();
    attribute->set_name("channels_last");
    attribute->set_type(onnx::AttributeProto::INT);
    attribute->set_i(1);
  }
  EXPECT_EQ(failure_of<UnsupportedError>(
                [&] { (void)from_onnx(model.SerializeAsString()); }),
            (Failure{"unsupported_operator", "ONNX model"}));
}

}  // namespace
}  // namespace octet::io
