// Scales per channel of activations before depthwise convolutions, as NNCF
// writes them.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/io/onnx.h>
#include <octet/io/onnx_reference.h>
#include <octet/quant/quant.h>

#include "../facts.h"
#include "onnx_models.h"
#include "support.h"

namespace octet::io {
namespace {

const std::string kPair =
    "q = QuantizeLinear (x, s, z)\n d = DequantizeLinear (q, s, z)\n";

/// x -> pair with a scale per channel -> depthwise convolution of "k", which
/// `weight` produces.
onnx::ModelProto depthwise(const std::string& weight, int multiplier = 1,
                           const std::string& more = "") {
  const int outputs = 3 * multiplier;
  onnx::ModelProto model =
      graph_model("(float[N,3,5,5] x) => (float[N,C,3,3] y)",
                  kPair + weight + "y = Conv <group = 3> (d, k)\n" + more);
  auto& graph = *model.mutable_graph();
  *graph.add_initializer() = float_tensor("s", {3}, {0.01f, 0.04f, 0.002f});
  auto zero = int8_tensor("z", {3}, {7, 7, 7});
  zero.set_data_type(onnx::TensorProto::UINT8);
  *graph.add_initializer() = zero;
  const auto per_output = [&](float value) {
    std::vector<float> values;
    for (int i = 0; i < outputs; ++i) {
      values.push_back(value * static_cast<float>(i + 1));
    }
    return values;
  };
  *graph.add_initializer() = float_tensor("ws", {outputs}, per_output(0.01f));
  *graph.add_initializer() =
      int8_tensor("wz", {outputs}, std::vector<int32_t>(size_t(outputs), 0));
  std::vector<int32_t> values;
  for (int i = 0; i < 9 * outputs; ++i) values.push_back(i * 37 % 255 - 127);
  *graph.add_initializer() = int8_tensor("c", {outputs, 1, 3, 3}, values);
  add_noise(model, "w", {outputs, 1, 3, 3});
  return model;
}

const std::string kStored = "k = DequantizeLinear <axis = 0> (c, ws, wz)\n";
const std::string kRounded =
    "wq = QuantizeLinear <axis = 0> (w, ws, wz)\n"
    "k = DequantizeLinear <axis = 0> (wq, ws, wz)\n";

// Expected: the file run node by node.
TEST(OnnxChannelScales, BecomeADivisionAndLargerWeights) {
  for (const std::string& weight : {kStored, kRounded}) {
    for (const int multiplier : {1, 2}) {
      SCOPED_TRACE(weight);
      const std::string bytes =
          depthwise(weight, multiplier).SerializeAsString();
      const Model model = from_onnx(bytes);
      EXPECT_EQ(quant::activation_quantizers(model).size(), 1u);
      EXPECT_EQ(quant::weight_quantizers(model).size(), 1u);
      const Tensor x = noise({2, 5, 5, 3});
      const Tensor expected =
          onnx_reference_from_bytes(bytes).predict(x.transposed({0, 3, 1, 2}));
      const Tensor y = model.predict(x).transposed({0, 3, 1, 2});
      ASSERT_EQ(y.shape(), expected.shape());
      for (size_t i = 0; i < y.f32().size(); ++i) {
        ASSERT_NEAR(y.f32()[i], expected.f32()[i], 1e-5f) << i;
      }
    }
  }
}

TEST(OnnxChannelScales, OtherConsumersAreRejected) {
  const Failure expected{"unsupported_operator", "node 'd' (DequantizeLinear)"};
  auto model = depthwise(kStored);
  auto& zero = initializer(model, "z");
  zero.set_int32_data(1, 9);
  EXPECT_EQ(failure_of<UnsupportedError>(
                [&] { (void)from_onnx(model.SerializeAsString()); }),
            expected);
  model = depthwise(kStored);
  auto* also = model.mutable_graph()->add_node();
  also->set_op_type("Relu");
  also->add_input("d");
  also->add_output("r");
  model.mutable_graph()->add_output()->set_name("r");
  EXPECT_EQ(failure_of<UnsupportedError>(
                [&] { (void)from_onnx(model.SerializeAsString()); }),
            expected);
}

}  // namespace
}  // namespace octet::io
