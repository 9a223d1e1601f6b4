// Export with patterns: placement of pairs, and the documented sequence from
// calibration and fine-tuning to export.
#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <octet/io/onnx.h>
#include <octet/layers/layers.h>
#include <octet/quant/quant.h>
#include <octet/runtime/rng.h>
#include <octet/train/fit.h>
#include <octet/train/optimizer.h>

#include "support.h"

namespace octet::io {
namespace {

using ::testing::ElementsAre;

/// A stem, a residual block, a global pool and a classifier.
Model network() {
  const SymbolicTensor image = input({16, 16, 3}, "image");
  SymbolicTensor x =
      ZeroPadding2D({.padding = {3, 3, 3, 3}, .name = "pad"})(image);
  x = Conv2D(
      {.filters = 4, .kernel_size = {7, 7}, .strides = {2, 2}, .name = "stem"})(
      x);
  x = ReLU({.name = "stem_relu"})(BatchNormalization({.name = "stem_bn"})(x));
  x = MaxPooling2D({.name = "stem_pool"})(x);
  SymbolicTensor y =
      Conv2D({.filters = 4, .padding = Padding::same, .name = "conv"})(x);
  y = ReLU({.name = "relu"})(Add({.name = "add"})({x, y}));
  y = GlobalAveragePooling2D({.name = "pool"})(y);
  y = Dropout({.rate = 0.25f, .name = "dropout"})(y);
  return Model(image, Dense({.units = 3, .name = "dense"})(y));
}

Dataset images(int64_t n) {
  Tensor x({n, 16, 16, 3});
  Rng(3).fill_uniform(x, -1, 1);
  Tensor labels(Shape{n}, DType::i64);
  for (int64_t i = 0; i < n; ++i) {
    labels.data<int64_t>()[static_cast<size_t>(i)] = i % 3;
  }
  return Dataset(x, labels);
}

/// Quantized by patterns, including the small classifier, and calibrated.
Model calibrated() {
  quant::TransformResult result = quant::transform(network());
  result.match("dense").apply = true;
  Model model = quant::insert_qdq(result.model, result.matches);
  quant::calibrate(model, images(12));
  return model;
}

onnx::GraphProto graph_of(const Model& model) {
  onnx::ModelProto proto;
  proto.ParseFromString(to_onnx(model).bytes);
  return proto.graph();
}

const onnx::NodeProto& producer(const onnx::GraphProto& graph,
                                const std::string& value) {
  for (const auto& node : graph.node()) {
    for (const auto& output : node.output()) {
      if (output == value) return node;
    }
  }
  throw std::runtime_error("no node makes " + value);
}

/// Returns the operators from the graph's input to the named node, along first
/// inputs.
std::vector<std::string> path_to(const onnx::GraphProto& graph,
                                 const std::string& name) {
  for (const auto& node : graph.node()) {
    if (node.name() != name) continue;
    std::vector<std::string> ops{node.op_type()};
    std::string value = node.input(0);
    while (value != graph.input(0).name()) {
      const auto& before = producer(graph, value);
      ops.insert(ops.begin(), before.op_type());
      value = before.input(0);
    }
    return ops;
  }
  throw std::runtime_error("no node " + name);
}

TEST(PatternExport, PutsThePairsAroundFusedChains) {
  const onnx::GraphProto graph = graph_of(calibrated());
  EXPECT_THAT(
      path_to(graph, "quant_dense"),
      ElementsAre("QuantizeLinear", "DequantizeLinear", "Pad", "Conv",
                  "BatchNormalization", "Relu", "MaxPool", "QuantizeLinear",
                  "DequantizeLinear", "Add", "Relu", "QuantizeLinear",
                  "DequantizeLinear", "GlobalAveragePool", "Flatten",
                  "QuantizeLinear", "DequantizeLinear", "Gemm"));
}

TEST(PatternExport, WritesOnePairBetweenThePoolAndItsConsumer) {
  const Model model = calibrated();
  // Stem, block input (of conv and Add), pool input and output, three weights:
  // the Dense layer consumes the pair after the pool.
  EXPECT_EQ(quant::activation_quantizers(model).size(), 6u);
  EXPECT_EQ(to_onnx(model).report.qdq_pairs, 4 + 3);
}

TEST(PatternExport, WritesOneOutputPairForAllConsumers) {
  const SymbolicTensor image = input({4, 4, 3}, "image");
  const SymbolicTensor pool = GlobalAveragePooling2D({.name = "pool"})(image);
  const Model model({image}, {Activation("tanh", "a")(pool),
                              Activation("sigmoid", "b")(pool)});
  const quant::TransformResult result = quant::transform(model);
  Model quantized = quant::insert_qdq(result.model, result.matches);
  quant::calibrate(quantized, [](const Model& m) {
    Tensor x({2, 4, 4, 3});
    Rng(1).fill_uniform(x, -1, 1);
    (void)m.predict(std::vector<Tensor>{x});
  });
  const onnx::GraphProto graph = graph_of(quantized);
  const std::vector<std::string> pairs{"QuantizeLinear",    "DequantizeLinear",
                                       "GlobalAveragePool", "Flatten",
                                       "QuantizeLinear",    "DequantizeLinear"};
  for (const char* name : {"a", "b"}) {
    std::vector<std::string> path = path_to(graph, name);
    path.pop_back();
    EXPECT_EQ(path, pairs);
  }
  EXPECT_EQ(to_onnx(quantized).report.qdq_pairs, 2);
}

TEST(PatternExport, WritesAttentionsThreePairs) {
  const SymbolicTensor x = input({5, 8}, "x");
  SymbolicTensor y = LayerNormalization({.name = "norm"})(x);
  y = multi_head_attention(y, y, {.num_heads = 2, .key_dim = 4, .name = "a"});
  const quant::TransformResult result = quant::transform(Model(x, y));
  Model model = quant::insert_qdq(result.model, result.matches);
  quant::calibrate(model, [](const Model& m) {
    Tensor data({2, 5, 8});
    Rng(1).fill_uniform(data, -1, 1);
    (void)m.predict(data);
  });
  // Input and weights of the projections, query, key and value.
  EXPECT_EQ(to_onnx(model).report.qdq_pairs, 1 + 3 + 3);
}

TEST(PatternExport, IsTheSameWithFakeQuantizationOnAndOff) {
  Model model = calibrated();
  // The documented sequence: prepare, train, evaluate, disable, export.
  quant::prepare_qat(model);
  quant::enable_fake_quant(model);
  quant::freeze_bn_stats(model);
  const std::string untrained = to_onnx(model).bytes;
  train::fit(model, images(12),
             {.epochs = 1,
              .batch_size = 4,
              .optimizer = train::SGD({.learning_rate = 0.1f})});
  const Dataset data = images(4);
  const Tensor x = data.batch(0, 4).input();
  const Tensor quantized = model.predict(x);
  const std::string on = to_onnx(model).bytes;
  quant::disable_fake_quant(model);
  const std::string off = to_onnx(model).bytes;
  EXPECT_EQ(off, on);
  EXPECT_NE(on, untrained);
  EXPECT_EQ(to_onnx(model).report.qdq_pairs, 7);
  // Without fake-quantization, the model computes in float.
  const Tensor floats = model.predict(x);
  EXPECT_FALSE(std::ranges::equal(floats.f32(), quantized.f32()));
}

TEST(PatternExport, RejectsAModelThatIsNotCalibrated) {
  const quant::TransformResult result = quant::transform(network());
  const Model model = quant::insert_qdq(result.model, result.matches);
  EXPECT_EQ(failure_of<ValueError>([&] { (void)to_onnx(model); }),
            (Failure{"not_calibrated", "quantizer 'image'"}));
}

}  // namespace
}  // namespace octet::io
