// Operators on quantized values, in the form of ONNX Runtime's quantizer.
// Expected values follow from scales and zero points;
// tests/oracle/compare_writers.py tests whole networks.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/io/onnx_reference.h>

#include "onnx_run.h"

namespace octet::io {
namespace {

using ::testing::ElementsAre;

OnnxReference codes_model(const std::string& ends, const std::string& nodes) {
  onnx::ModelProto model = model_of("g " + ends + " {\n" + nodes + "\n}");
  auto* import = model.add_opset_import();
  import->set_domain("com.microsoft");
  import->set_version(1);
  auto& graph = *model.mutable_graph();
  for (auto& node : *graph.mutable_node()) {
    if (node.op_type().starts_with("Q")) node.set_domain("com.microsoft");
  }
  // Scales of 0.5, 0.25 and 2, zero points of 10 and 128.
  *graph.add_initializer() = float_tensor("half", {}, {0.5f});
  *graph.add_initializer() = float_tensor("quarter", {}, {0.25f});
  *graph.add_initializer() = float_tensor("two", {}, {2});
  for (const int zero : {0, 10, 128}) {
    auto& tensor = *graph.add_initializer();
    tensor.set_name("z" + std::to_string(zero));
    tensor.set_data_type(onnx::TensorProto::UINT8);
    tensor.add_int32_data(zero);
  }
  return to_run(model);
}

Tensor codes(const Shape& shape, const std::vector<uint8_t>& values) {
  return Tensor::of<uint8_t>(shape, values);
}

std::vector<int> codes_of(const Tensor& tensor) {
  const auto values = tensor.data<uint8_t>();
  return {values.begin(), values.end()};
}

TEST(OnnxQuantizer, AddsAndMultipliesRealValues) {
  const std::string ends = "(uint8[2,2] a, uint8[2] b) => (uint8[M,N] y)";
  // a: (q - 10) / 2, b: (q - 128) / 4.
  const std::vector<Tensor> inputs{codes(Shape{2, 2}, {10, 12, 0, 255}),
                                   codes(Shape{2}, {128, 132})};
  const auto sum =
      codes_model(ends,
                  "y = QLinearAdd (a, half, z10, b, quarter, z128, "
                  "quarter, z128)");
  // 0+0, 1+1, -5+0, 122.5+1 in quarters from 128 on.
  EXPECT_THAT(codes_of(sum.predict(inputs)[0]),
              ElementsAre(128, 136, 108, 255));
  const auto product = codes_model(
      ends, "y = QLinearMul (a, half, z10, b, quarter, z128, half)");
  EXPECT_THAT(codes_of(product.predict(inputs)[0]), ElementsAre(0, 2, 0, 245));
}

TEST(OnnxQuantizer, ConcatenatesTensorsOfDifferentScales) {
  const auto model = codes_model(
      "(uint8[1,2] a, uint8[1,1] b) => (y)",
      "y = QLinearConcat <axis = 1> (half, z10, a, half, z10, b, two, z0)");
  EXPECT_EQ(to_string(model.outputs()[0].shape), "[1,3]");
  EXPECT_THAT(codes_of(model.predict(std::vector{codes(Shape{1, 2}, {3, 200}),
                                                 codes(Shape{1, 1}, {4})})[0]),
              ElementsAre(3, 200, 26));  // 4 * 2 = 16 halves, from 10 on
}

TEST(OnnxQuantizer, AveragesOverImages) {
  const auto model =
      codes_model("(uint8[1,2,1,2] a) => (y)",
                  "y = QLinearGlobalAveragePool (a, half, z10, quarter, z128)");
  EXPECT_EQ(to_string(model.outputs()[0].shape), "[1,2,1,1]");
  // (1 + 2) / 2 and -5 in quarters from 128 on.
  EXPECT_THAT(codes_of(model.predict(codes(Shape{1, 2, 1, 2}, {12, 14, 0, 0}))),
              ElementsAre(134, 108));
}

TEST(OnnxQuantizer, MultipliesMatricesInIntegers) {
  const std::string ends = "(uint8[1,2] a, uint8[3,2] b) => (y)";
  const std::string node =
      "y = QGemm <transB = 1> (a, half, z10, b, quarter, "
      "z128, bias";
  const auto with_bias = [&](const std::string& rest) {
    return codes_model(
        ends,
        "bias = Constant <value = int32[3] {0, 8, -800}> ()\n" + node + rest);
  };
  const std::vector<Tensor> inputs{
      codes(Shape{1, 2}, {11, 14}),
      codes(Shape{3, 2}, {129, 129, 128, 130, 255, 128})};
  // Rows (1,1), (0,2), (127,0) by (1,4): 5, 8, 127 eighths and the bias.
  const Tensor y = with_bias(")").predict(inputs)[0];
  EXPECT_THAT(values_of(y), ElementsAre(0.625f, 2, -84.125f));
  const auto model = with_bias(", quarter, z128)");
  EXPECT_EQ(to_string(model.outputs()[0].shape), "[1,3]");
  // 2.5 quarters round to 2.
  EXPECT_THAT(codes_of(model.predict(inputs)[0]), ElementsAre(130, 136, 0));
}

TEST(OnnxQuantizer, RejectsImagesWithTheChannelsLast) {
  const auto model = codes_model(
      "(uint8[1,2,1,2] a) => (y)",
      "y = QLinearGlobalAveragePool <channels_last = 1> (a, half, z10, "
      "quarter, z128)");
  EXPECT_EQ(
      failure_of<UnsupportedError>([&] {
        (void)model.predict(Tensor(Shape{1, 2, 1, 2}, DType::u8));
      }),
      (Failure{"unsupported_operator", "node 'y' (QLinearGlobalAveragePool)"}));
}

}  // namespace
}  // namespace octet::io
