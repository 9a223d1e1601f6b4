// Import of Q/DQ pairs as quantizers.
#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/io/onnx.h>
#include <octet/io/onnx_reference.h>
#include <octet/layers/layers.h>
#include <octet/layers/zoo.h>
#include <octet/quant/quant.h>
#include <octet/runtime/rng.h>

#include "../disturb.h"
#include "onnx_models.h"
#include "support.h"

namespace octet::io {
namespace {

struct QuantizedNetwork {
  std::string name;
  zoo::Options options = {};
};

Tensor images_for(const Model& model) {
  Tensor x(model.inputs()[0].shape().with(0, 2));
  Rng(3).fill_uniform(x, -1, 1);
  return x;
}

Model quantized(const Model& model, quant::Policy policy) {
  Model result = quant::quantize_model(model, {.policy = policy});
  const WarningCapture warnings;
  quant::calibrate(result,
                   [&](const Model& m) { (void)m.predict(images_for(m)); });
  return result;
}

/// Returns the scales of activations, and of weights in the layers' layout.
std::multiset<float> activation_scales(const Model& model) {
  std::multiset<float> scales;
  std::set<const quant::Quantizer*> seen;
  for (const auto& placed : quant::activation_quantizers(model)) {
    if (seen.insert(placed.quantizer.get()).second) {
      scales.insert(placed.quantizer->scale().value());
    }
  }
  return scales;
}

TEST(OnnxImportQdq, RestoresScalesOfOctetsFiles) {
  const std::vector<QuantizedNetwork> networks{
      {"resnet8"},
      {"mobilenet_v2", {.input = {32, 41, 3}, .classes = 10, .alpha = 0.35}},
      {"efficientnet_b0", {.input = {33, 40, 3}, .classes = 10}},
      {"unet", {.input = {16, 24, 3}, .classes = 4}},
      {"ds_cnn"},
      {"merry"},
      {"pippin"},
      {"vit_tiny", {.input = {32, 48, 3}, .classes = 10}},
  };
  for (const QuantizedNetwork& network : networks) {
    for (const auto policy :
         {quant::Policy::tensorrt, quant::Policy::toolkit}) {
      SCOPED_TRACE(network.name);
      const Model model = zoo::make(network.name, network.options);
      disturb(model);
      const Model int8 = quantized(model, policy);
      const OnnxFile file = to_onnx(int8);
      const Model back = from_onnx(file.bytes);
      EXPECT_EQ(activation_scales(back), activation_scales(int8));
      const OnnxFile again = to_onnx(back);
      EXPECT_EQ(again.report.qdq_pairs, file.report.qdq_pairs);
      // By operators, not by layers.
      Tensor x = images_for(model);
      const OnnxReference first = onnx_reference_from_bytes(file.bytes);
      const OnnxReference second = onnx_reference_from_bytes(again.bytes);
      if (first.inputs()[0].shape->size() == 4) x = x.transposed({0, 3, 1, 2});
      expect_equal(second.predict(x), first.predict(x));
    }
  }
}

/// For all layers, in order.
std::vector<std::string> names_of_layers(const Model& model) {
  std::vector<std::string> names;
  for (const auto& layer : model.layers()) names.push_back(layer->name());
  return names;
}

// Not "quant_quant_conv", after any number of round trips.
TEST(OnnxImportQdq, WrapsLayersUnderTheirFormerNames) {
  const Model model = zoo::make("lenet", {});
  const Model int8 = quantized(model, quant::Policy::tensorrt);
  const OnnxFile file = to_onnx(int8);
  const Model once = from_onnx(file.bytes);
  EXPECT_THAT(
      names_of_layers(once),
      ::testing::IsSupersetOf({"quant_conv1", "quant_conv2", "quant_fc1",
                               "quant_fc2", "quant_predictions"}));
  EXPECT_EQ(names_of_layers(from_onnx(to_onnx(once).bytes)),
            names_of_layers(once));
  EXPECT_THAT(names_of_layers(from_onnx(file.bytes, {.drop_quantizers = true})),
              ::testing::IsSupersetOf({"conv1", "conv2", "fc1", "fc2"}));
}

// Also if several nodes form one layer.
TEST(OnnxImportQdq, WrapsPatternsUnderTheirFormerNames) {
  const Model model =
      zoo::make("vit_tiny", {.input = {32, 48, 3}, .classes = 10});
  const Model int8 = quantized(model, quant::Policy::tensorrt);
  const Model once = from_onnx(to_onnx(int8).bytes);
  for (const std::string& name : names_of_layers(once)) {
    EXPECT_EQ(name.find("quant_quant"), std::string::npos) << name;
  }
  for (const auto& q : quant::quantizers(once)) {
    EXPECT_EQ(q->name().find("quant_"), std::string::npos) << q->name();
  }
}

// Scales stay with layers named like outputs.
TEST(OnnxImportQdq, KeepsScalesOfNamedOutputs) {
  const SymbolicTensor x = input({6}, "x");
  const SymbolicTensor h = ReLU()(Dense({.units = 5, .name = "body"})(x));
  const SymbolicTensor a = Dense({.units = 4, .name = "scores"})(h);
  const SymbolicTensor b = Dense({.units = 3, .name = "other"})(h);
  const Model net({x}, {a, b});
  Model int8 = quant::quantize_model(net);
  Tensor samples({20, 6});
  Rng(3).fill_uniform(samples, -1, 1);
  quant::calibrate(int8, [&](const Model& m) {
    (void)m.predict(std::vector<Tensor>{samples});
  });
  OnnxExportOptions options;
  options.output_names = {"boxes", "scores"};  // the second was "other"
  const Model read = from_onnx(to_onnx(int8, options).bytes);
  EXPECT_EQ(quant::output_names(read),
            (std::vector<std::string>{"boxes", "scores"}));
  const std::vector<Tensor> in{samples};
  const auto expected = int8.predict(in), got = read.predict(in);
  for (size_t i = 0; i < 2; ++i) expect_equal(got[i], expected[i]);
  EXPECT_EQ(activation_scales(read), activation_scales(int8));
}

// A user's layer in a float file keeps its name.
TEST(OnnxImportQdq, KeepsNamesOfFloatFiles) {
  const SymbolicTensor x = input({3}, "x");
  const Model model(x, Dense({.units = 2, .name = "quant_mine"})(x));
  EXPECT_THAT(names_of_layers(from_onnx(to_onnx(model).bytes)),
              ::testing::Contains("quant_mine"));
}

TEST(OnnxImportQdq, RestoresFewerBits) {
  const Model model = zoo::make("merry", {});
  for (const quant::QuantizerConfig& config :
       {quant::QuantizerConfig{.bits = 4},
        quant::QuantizerConfig{.bits = 8, .narrow_range = true}}) {
    Model int4 = quant::quantize_model(model, {.activation = config});
    const Tensor x = images_for(model);
    quant::calibrate(int4, [&](const Model& m) { (void)m.predict(x); });
    const OnnxFile file = to_onnx(int4);
    const Model back = from_onnx(file.bytes);
    const auto before = quant::activation_quantizers(int4);
    const auto after = quant::activation_quantizers(back);
    ASSERT_EQ(after.size(), before.size());
    for (size_t i = 0; i < after.size(); ++i) {
      EXPECT_EQ(after[i].quantizer->config(), before[i].quantizer->config());
      EXPECT_EQ(after[i].quantizer->config().bits, config.bits);
    }
    EXPECT_EQ(to_onnx(back).report.nodes, file.report.nodes);
    expect_equal(back.predict(x), int4.predict(x));
  }
}

TEST(OnnxImportQdq, KeepsScalesOfTrainedWeights) {
  const Model read = from_onnx(quantized_model().SerializeAsString());
  const auto weights = quant::weight_quantizers(read);
  ASSERT_EQ(weights.size(), 1u);
  const auto scales = weights[0].quantizer->scales();
  EXPECT_THAT(std::vector<float>(scales.begin(), scales.end()),
              ::testing::ElementsAre(0.1f, 0.2f, 0.3f, 0.4f));
  EXPECT_EQ(weights[0].quantizer->config().rule, quant::ScaleRule::fixed);
  const auto activations = quant::activation_quantizers(read);
  ASSERT_EQ(activations.size(), 1u);
  EXPECT_EQ(activations[0].quantizer->scale(), 0.02f);
}

TEST(OnnxImportQdq, AcceptsStoredIntegersAndIntegerBiases) {
  onnx::ModelProto model = model_of(
      "g (float[N,3] x) => (float[N,2] y) {\n"
      "  xq = QuantizeLinear (x, xs, xz)\n"
      "  xd = DequantizeLinear (xq, xs, xz)\n"
      "  wd = DequantizeLinear <axis = 0> (w, ws, wz)\n"
      "  bd = DequantizeLinear <axis = 0> (b, bs)\n"
      "  z = Gemm <transB = 1> (xd, wd, bd)\n"
      "  zq = QuantizeLinear (z, xs, xz)\n"
      "  y = DequantizeLinear (zq, xs, xz)\n"
      "}");
  auto& graph = *model.mutable_graph();
  *graph.add_initializer() = float_tensor("xs", {}, {0.02f});
  *graph.add_initializer() = int8_tensor("xz", {}, {0});
  *graph.add_initializer() = int8_tensor("w", {2, 3}, {1, -2, 3, 40, -128, 60});
  *graph.add_initializer() = float_tensor("ws", {2}, {0.1f, 0.01f});
  *graph.add_initializer() = int8_tensor("wz", {2}, {0, 0});
  onnx::TensorProto bias;
  bias.set_name("b");
  bias.set_data_type(onnx::TensorProto::INT32);
  bias.add_dims(2);
  bias.add_int32_data(50);
  bias.add_int32_data(-7);
  *graph.add_initializer() = bias;
  *graph.add_initializer() = float_tensor("bs", {2}, {0.002f, 0.0002f});
  const std::string bytes = model.SerializeAsString();
  const Model read = from_onnx(bytes);
  // The second output is 86.93 quantization steps; with -127 in place of -128,
  // 86.43.
  const Tensor x = Tensor::of<float>({1, 3}, {0.4f, -1.0f, 0.5f});
  expect_equal(read.predict(x), onnx_reference_from_bytes(bytes).predict(x));
  // The output is quantized, too.
  EXPECT_EQ(quant::activation_quantizers(read).size(), 2u);
  expect_equal(onnx_reference_from_bytes(to_onnx(read).bytes).predict(x),
               read.predict(x));
}

TEST(OnnxImportQdq, OfOneTensorAtTwoScalesIsTwoQuantizers) {
  onnx::ModelProto model = model_of(
      "g (float[N,3] x) => (float[N,3] y) {\n"
      "  a = QuantizeLinear (x, s, z)\n"
      "  b = DequantizeLinear (a, s, z)\n"
      "  c = QuantizeLinear (x, t, z)\n"
      "  d = DequantizeLinear (c, t, z)\n"
      "  e = Relu (b)\n"
      "  f = Sigmoid (d)\n"
      "  y = Add (e, f)\n"
      "}");
  auto& graph = *model.mutable_graph();
  *graph.add_initializer() = float_tensor("s", {}, {0.02f});
  *graph.add_initializer() = float_tensor("t", {}, {0.5f});
  *graph.add_initializer() = int8_tensor("z", {}, {0});
  for (const int node : {1, 3}) graph.mutable_node(node)->set_name("pair");
  const std::string bytes = model.SerializeAsString();
  const Model read = from_onnx(bytes);
  EXPECT_THAT(activation_scales(read), ::testing::ElementsAre(0.02f, 0.5f));
  const Tensor x = Tensor::of<float>({1, 3}, {2.7f, 0.33f, -1});
  expect_equal(read.predict(x), onnx_reference_from_bytes(bytes).predict(x));
}

}  // namespace
}  // namespace octet::io
