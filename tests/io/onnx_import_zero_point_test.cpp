// Q/DQ pairs with zero points, and ranges from zero on, which act as a ReLU.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/io/onnx.h>
#include <octet/io/onnx_reference.h>
#include <octet/layers/layers.h>
#include <octet/quant/detail/counterpart.h>
#include <octet/quant/quant.h>

#include "../facts.h"
#include "onnx_models.h"
#include "support.h"

namespace octet::io {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(OnnxImportZeroPoint, AcceptsAnyZeroPoint) {
  const auto bytes_with = [](int32_t zero_point, bool sign = false) {
    onnx::ModelProto model = model_of(
        "g (float[N,3] x) => (float[N,3] y) {\n"
        "  q = QuantizeLinear (x, s, z)\n"
        "  d = DequantizeLinear (q, s, z)\n"
        "  y = Relu (d)\n"
        "}");
    auto& graph = *model.mutable_graph();
    *graph.add_initializer() = float_tensor("s", {}, {0.02f});
    onnx::TensorProto zero = int8_tensor("z", {}, {zero_point});
    if (!sign) zero.set_data_type(onnx::TensorProto::UINT8);
    *graph.add_initializer() = zero;
    return model.SerializeAsString();
  };
  const auto read = [&](int32_t zero_point, bool drop) {
    return from_onnx(bytes_with(zero_point), {.drop_quantizers = drop});
  };
  const Model dropped = read(17, true);
  EXPECT_TRUE(quant::quantizers(dropped).empty());
  // Any zero point; int8 is equivalent to uint8 with a zero point higher by
  // 128.
  const Tensor wide = Tensor::of<float>({1, 3}, {90, 0.33f, -1});
  for (const auto& [zero_point, sign] :
       {std::pair(17, false), {255, false}, {-111, true}, {90, true}}) {
    SCOPED_TRACE(zero_point);
    const std::string bytes = bytes_with(zero_point, sign);
    const Model moved = from_onnx(bytes);
    EXPECT_EQ(quant::quantizers(moved)[0]->config().zero_point,
              sign ? zero_point + 128 : zero_point);
    expect_equal(moved.predict(wide),
                 onnx_reference_from_bytes(bytes).predict(wide));
    EXPECT_EQ(failure_of<UnsupportedError>([&] { (void)to_onnx(moved); }),
              (Failure{"unsupported_type", "quantizer 'd'"}));
    const std::string again =
        to_onnx(moved, {.target = Target::onnxruntime}).bytes;
    expect_equal(onnx_reference_from_bytes(again).predict(wide),
                 moved.predict(wide));
    EXPECT_EQ(quant::quantizers(from_onnx(again))[0]->config(),
              quant::quantizers(moved)[0]->config());
  }
  const Model same = read(128, false);
  EXPECT_EQ(quant::activation_quantizers(same).size(), 1u);
  const Tensor x = Tensor::of<float>({1, 3}, {2.7f, 0.011f, -1});
  const Tensor y = same.predict(x);
  EXPECT_NEAR(y.f32()[0], 2.54f, 1e-6f);  // 127 steps
  EXPECT_NEAR(y.f32()[1], 0.02f, 1e-6f);
  const Model from_zero = read(0, false);
  EXPECT_FALSE(quant::quantizers(from_zero)[0]->config().is_signed);
  const Tensor z = from_zero.predict(x);
  EXPECT_NEAR(z.f32()[0], 2.7f, 1e-6f);  // 135 steps
}

TEST(OnnxImportZeroPoint, SymmetricRangesCoverThoseOfTheFile) {
  for (const int32_t zero_point : {0, 17, 128, 250}) {
    onnx::ModelProto model = model_of(
        "g (float[N,3] x) => (float[N,3] y) {\n"
        "  n = Neg (x)\n"
        "  q = QuantizeLinear (n, s, z)\n"
        "  d = DequantizeLinear (q, s, z)\n"
        "  y = Tanh (d)\n"
        "}");
    auto& graph = *model.mutable_graph();
    *graph.add_initializer() = float_tensor("s", {}, {0.02f});
    onnx::TensorProto zero = int8_tensor("z", {}, {zero_point});
    zero.set_data_type(onnx::TensorProto::UINT8);
    *graph.add_initializer() = zero;
    const Model read =
        from_onnx(model.SerializeAsString(), {.symmetric_activations = true});
    const auto quantizers = quant::quantizers(read);
    ASSERT_EQ(quantizers.size(), 1u);
    EXPECT_TRUE(quantizers[0]->config().is_signed);
    const float steps =
        static_cast<float>(std::max(zero_point, 255 - zero_point));
    // 128 is int8 with zero point 0 already.
    EXPECT_FLOAT_EQ(*quantizers[0]->scale(),
                    zero_point == 128 ? 0.02f : 0.02f * steps / 127);
    EXPECT_GT(to_onnx(read).report.qdq_pairs, 0);
    // A range from 0 also was a ReLU.
    const Tensor y = read.predict(Tensor::of<float>({1, 3}, {0.5f, 0.3f, 1}));
    EXPECT_EQ(y.f32()[0] >= 0, zero_point == 0) << zero_point;
  }
}

// One weight with one scale and two zero points.
TEST(OnnxImportZeroPoint, OfOneWeightAtTwoZeroPointsAreTwoLayers) {
  onnx::ModelProto model = model_of(
      "g (float[N,3] x) => (float[N,2] y) {\n"
      "  a = QuantizeLinear (x, s, z)\n"
      "  b = DequantizeLinear (a, s, z)\n"
      "  c = QuantizeLinear (x, s, t)\n"
      "  d = DequantizeLinear (c, s, t)\n"
      "  e = MatMul (b, w)\n"
      "  f = MatMul (d, w)\n"
      "  y = Sub (e, f)\n"
      "}");
  auto& graph = *model.mutable_graph();
  *graph.add_initializer() = float_tensor("s", {}, {0.02f});
  *graph.add_initializer() = int8_tensor("z", {}, {100});
  *graph.add_initializer() = int8_tensor("t", {}, {-100});
  *graph.add_initializer() =
      float_tensor("w", {3, 2}, {3, -4, 0.5f, 1, -1, 0.25f});
  const std::string bytes = model.SerializeAsString();
  const Tensor x = Tensor::of<float>({2, 3}, {0.4f, 1.3f, 2, 4.9f, -3, 0.1f});
  const WarningCapture warnings;
  expect_equal(from_onnx(bytes).predict(x),
               onnx_reference_from_bytes(bytes).predict(x));
}

TEST(OnnxImportZeroPoint, WithoutZeroPointHasTheTypeOfTheAttribute) {
  for (const bool moved : {false, true}) {
    onnx::ModelProto model = model_of(
        std::string("g (float[N,3] x) => (float[N,3] y) {\n"
                    "  a = QuantizeLinear <output_dtype = 3> (x, s)\n") +
        (moved ? "  b = Identity (a)\n" : "") + "  c = DequantizeLinear (" +
        (moved ? "b" : "a") +
        ", s)\n"
        "  y = Relu (c)\n"
        "}");
    model.mutable_opset_import(0)->set_version(21);
    model.set_ir_version(10);
    model.mutable_graph()->mutable_node(moved ? 3 : 2)->set_op_type("Neg");
    *model.mutable_graph()->add_initializer() = float_tensor("s", {}, {0.02f});
    const std::string bytes = model.SerializeAsString();
    const Tensor x = Tensor::of<float>({1, 3}, {0.4f, -1.3f, 9});
    const Model read = from_onnx(bytes);
    expect_equal(read.predict(x), onnx_reference_from_bytes(bytes).predict(x));
    EXPECT_TRUE(quant::quantizers(read)[0]->config().is_signed);
  }
}

// ONNX Runtime's quantizer removes a ReLU before such a pair.
TEST(OnnxImportZeroPoint, RestoresAReluFromARangeFromZero) {
  const auto file = [](const std::string& function, float scale) {
    onnx::ModelProto model = model_of(
        "g (float[N,3] x) => (float[N,2] y) {\n"
        "  a = QuantizeLinear (x, s, z)\n"
        "  b = DequantizeLinear (a, s, z)\n"
        "  c = MatMul (b, w)\n"
        "  d = " +
        function +
        " (c)\n"
        "  e = QuantizeLinear (d, t, z)\n"
        "  f = DequantizeLinear (e, t, z)\n"
        "  g = QuantizeLinear (f, t, z)\n"
        "  h = DequantizeLinear (g, t, z)\n"
        "  y = MatMul (h, v)\n"
        "}");
    auto& graph = *model.mutable_graph();
    graph.mutable_node(5)->set_name("relu/output_DequantizeLinear");
    *graph.add_initializer() = float_tensor("s", {}, {0.02f});
    *graph.add_initializer() = float_tensor("t", {}, {scale});
    onnx::TensorProto zero = int8_tensor("z", {}, {0});
    zero.set_data_type(onnx::TensorProto::UINT8);
    *graph.add_initializer() = zero;
    *graph.add_initializer() =
        float_tensor("w", {3, 2}, {3, -4, 0.5f, 1, -1, 0.25f});
    *graph.add_initializer() = float_tensor("v", {2, 2}, {1, 2, 3, 4});
    return model.SerializeAsString();
  };
  const auto relus = [](const Model& model) {
    std::vector<std::string> names;
    for (const auto& layer : model.layers()) {
      const Layer& inside = quant::float_layer(*layer);
      if (inside.class_name() != "ReLU") continue;
      names.push_back(fmt::format(
          "{} {}", quant::float_name(inside.name()),
          inside.config().at("max_value").is_null() ? "open" : "bounded"));
    }
    return names;
  };
  using ::testing::ElementsAre;
  using ::testing::IsEmpty;
  const Tensor x = Tensor::of<float>({2, 3}, {0.4f, 1.3f, 2, 4.9f, 0, 0.1f});
  for (const bool drop : {false, true}) {
    const WarningCapture warnings;  // about losses of drop_quantizers
    const OnnxImportOptions options{.drop_quantizers = drop};
    EXPECT_THAT(relus(from_onnx(file("Identity", 0.05f), options)),
                ElementsAre("relu open"));
    EXPECT_THAT(relus(from_onnx(file("Identity", 6 / 255.0f), options)),
                ElementsAre("relu bounded"));
    EXPECT_THAT(relus(from_onnx(file("Sigmoid", 0.05f), options)), IsEmpty());
    const std::string bytes = file("Identity", 6 / 255.0f);
    const Tensor y = from_onnx(bytes, options).predict(x);
    const Tensor expected = onnx_reference_from_bytes(bytes).predict(x);
    for (size_t i = 0; i < y.f32().size(); ++i) {
      EXPECT_NEAR(y.f32()[i], expected.f32()[i], drop ? 0.3f : 1e-5f);
    }
  }
}

TEST(OnnxImportZeroPoint, OfConstantsIsArbitraryUnlessTheyAreWeights) {
  const auto bytes_of = [](const std::string& op) {
    onnx::ModelProto model = model_of(
        "g (float[N,2] x) => (float[N,2] y) {\n"
        "  q = QuantizeLinear (x, s, z)\n"
        "  d = DequantizeLinear (q, s, z)\n"
        "  c = DequantizeLinear (k, s, z)\n"
        "  y = " +
        op +
        " (d, c)\n"
        "}");
    auto& graph = *model.mutable_graph();
    *graph.add_initializer() = float_tensor("s", {}, {0.02f});
    *graph.add_initializer() = int8_tensor("z", {}, {17});
    const bool product = op == "MatMul";
    *graph.add_initializer() = int8_tensor(
        "k", product ? std::vector<int64_t>{2, 2} : std::vector<int64_t>{2},
        product ? std::vector<int32_t>{1, 2, 3, 4}
                : std::vector<int32_t>{30, 4});
    return model.SerializeAsString();
  };
  const std::string bytes = bytes_of("Add");
  const Tensor x = Tensor::of<float>({1, 2}, {0.33f, -1});
  expect_equal(from_onnx(bytes).predict(x),
               onnx_reference_from_bytes(bytes).predict(x));
  const WarningCapture warnings;
  const Model product = from_onnx(bytes_of("MatMul"));
  expect_equal(product.predict(x),
               onnx_reference_from_bytes(bytes_of("MatMul")).predict(x));
  ASSERT_THAT(warnings.messages,
              ElementsAre(Failure{"weights_dequantized", "ONNX model"}));
  EXPECT_THAT(quoted_names(warnings.messages[0].text()), Contains("y"));
}

}  // namespace
}  // namespace octet::io
