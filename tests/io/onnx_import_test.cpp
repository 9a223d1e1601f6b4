// ONNX import of Octet's own exports. tests/oracle/compare_import.py tests
// files of other exporters.
#include <cmath>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/io/keras.h>
#include <octet/io/model_file.h>
#include <octet/io/onnx.h>
#include <octet/io/onnx_reference.h>
#include <octet/layers/layers.h>
#include <octet/layers/zoo.h>
#include <octet/quant/quant.h>
#include <octet/runtime/rng.h>

#include "../disturb.h"
#include "../layers/golden.h"
#include "../testdata.h"
#include "onnx_models.h"
#include "support.h"

namespace octet::io {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::MatchesRegex;

std::vector<Tensor> noise_for(const Model& model, int64_t samples = 2) {
  std::vector<Tensor> x;
  for (const SymbolicTensor& input : model.inputs()) {
    x.emplace_back(input.shape().with(0, samples));
    Rng(x.size()).fill_uniform(x.back(), -1, 1);
  }
  return x;
}

/// At most sums in another order: relative to the largest output.
void expect_near(const Tensor& got, const Tensor& expected) {
  ASSERT_EQ(got.shape(), expected.shape());
  float largest = 1;
  for (const float v : expected.f32()) largest = std::max(largest, std::abs(v));
  for (size_t i = 0; i < got.f32().size(); ++i) {
    ASSERT_LE(std::abs(got.f32()[i] - expected.f32()[i]), 1e-5f * largest) << i;
  }
}

/// The imported export agrees with the model, and so does a second round trip.
void expect_returns(const Model& model) {
  const OnnxFile file = to_onnx(model);
  const Model back = from_onnx(file.bytes);
  const std::vector<Tensor> x = noise_for(model);
  const std::vector<Tensor> expected = model.predict(x);
  const std::vector<Tensor> got = back.predict(x);
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) expect_near(got[i], expected[i]);
  const OnnxFile again = to_onnx(back);
  const Model twice = from_onnx(again.bytes);
  expect_near(twice.predict(x)[0], expected[0]);
}

/// Returns the output names after the import of a file with these names.
std::vector<std::string> read_names(const Model& model,
                                    std::vector<std::string> outputs) {
  OnnxExportOptions options;
  options.output_names = std::move(outputs);
  const Model read = from_onnx(to_onnx(model, options).bytes);
  const std::vector<Tensor> x = noise_for(model);
  const std::vector<Tensor> expected = model.predict(x);
  const std::vector<Tensor> got = read.predict(x);
  for (size_t i = 0; i < got.size(); ++i) expect_near(got[i], expected[i]);
  return quant::output_names(read);
}

// Losses and labels refer to output names, for any producing layer or pattern.
TEST(OnnxImport, KeepsTheNamesOfSeveralOutputs) {
  const SymbolicTensor x = input({6, 5, 4}, "x");
  const SymbolicTensor conv = Conv2D({.filters = 4})(x);
  const SymbolicTensor flat = Flatten()(conv);
  const SymbolicTensor dense = Dense({.units = 6})(flat);
  const Model model(
      {x}, {conv, flat, Activation({.activation = "gelu"})(dense),
            LayerNormalization()(dense), GlobalAveragePooling2D()(conv),
            Softmax()(dense), dense.index({Slice(), Slice(0, 2)}),
            dense.index({Slice(), Slice(2, 6)})});
  const std::vector<std::string> names = {"maps",   "flat",   "gated", "normed",
                                          "pooled", "scores", "left",  "right"};
  EXPECT_EQ(read_names(model, names), names);
}

TEST(OnnxImport, PrefersOutputNamesToLayerNames) {
  const SymbolicTensor x = input({5}, "x");
  const SymbolicTensor a = Dense({.units = 4, .name = "a"})(x);
  const SymbolicTensor b = Dense({.units = 3, .name = "scores"})(x);
  const SymbolicTensor c = Softmax({.name = "probs"})(b);
  const Model model({x}, {a, c});
  EXPECT_THAT(read_names(model, {"boxes", "scores"}),
              ElementsAre("boxes", "scores"));
  EXPECT_THAT(read_names(model, {"probs", "a"}), ElementsAre("probs", "a"));
  // Names numbered by exporters are ignored.
  EXPECT_THAT(read_names(model, {"12", "/b/Softmax_output_0"}),
              ElementsAre("a", "probs"));
  EXPECT_THAT(read_names(model, {"onnx::Gemm_17", "a"}),
              ElementsAre("a_1", "a"));
}

// The nodes of an attention with a causal mask become one layer again.
TEST(OnnxImport, ReturnsCausalAttention) {
  const SymbolicTensor q = input({5, 6}, "q"), k = input({4, 6}, "k");
  const Model model(
      {q, k},
      {ScaledDotProductAttention({.num_heads = 2, .causal = true})({q, k, k})});
  expect_returns(model);
  const Model read = from_onnx(to_onnx(model).bytes);
  const auto layers = read.layers();
  EXPECT_TRUE(std::ranges::any_of(layers, [](const auto& layer) {
    return layer->class_name() == "ScaledDotProductAttention" &&
           layer->config().at("causal") == Config(true);
  }));
}

struct Network {
  std::string name;
  zoo::Options options = {};
};

TEST(SlowOnnxImport, RoundTripsTheZoo) {
  const std::vector<Network> networks{
      {"lenet"},
      {"resnet8"},
      {"resnet18", {.input = {40, 32, 3}, .classes = 10}},
      {"resnet50", {.input = {33, 32, 3}, .classes = 10}},
      {"resnet50_v2", {.input = {32, 35, 3}, .classes = 10}},
      {"mobilenet", {.input = {33, 40, 3}, .classes = 10, .alpha = 0.25}},
      {"mobilenet_v1_025", {.input = {40, 32, 3}}},
      {"mobilenet_v2", {.input = {32, 41, 3}, .classes = 10, .alpha = 0.35}},
      {"ds_cnn"},
      {"inception_v3", {.input = {75, 76, 3}, .classes = 10}},
      {"efficientnet_b0", {.input = {33, 40, 3}, .classes = 10}},
      {"densenet121", {.input = {32, 33, 3}, .classes = 10}},
      {"unet", {.input = {16, 24, 3}, .classes = 4}},
      {"vit_tiny", {.input = {32, 48, 3}, .classes = 10}},
      {"otho"},
      {"lobelia"},
      {"lotho"},
      {"merry"},
      {"pippin"},
      {"frodo", {.input = {20, 24, 3}}},
      {"sam", {.input = {20, 24, 3}}},
  };
  for (const Network& network : networks) {
    SCOPED_TRACE(network.name);
    const Model model = zoo::make(network.name, network.options);
    disturb(model);
    expect_returns(model);
  }
}

TEST(OnnxImport, RoundTripsLayersWithKerasOutputs) {
  int read = 0;
  std::set<std::string> refused;
  for (const auto& path : golden_files("layers")) {
    const std::string name = path.stem().string();
    SCOPED_TRACE(name);
    const GoldenCase c = read_golden(path);
    const Model model = golden_model(c);
    try {
      const Model back = from_onnx(to_onnx(model).bytes);
      std::vector<Tensor> inputs;
      for (const GoldenArray& x : c.inputs) {
        // A sequence without convolutions keeps the file's layout.
        const Shape& wanted = back.inputs()[inputs.size()].shape();
        const bool turned =
            x.value.shape().rank() == 3 && wanted[1] != x.value.shape()[1];
        inputs.push_back(turned ? x.value.transposed({0, 2, 1}) : x.value);
      }
      Tensor y = back.predict(inputs).at(0);
      if (y.shape() != c.output.shape()) {
        ASSERT_EQ(y.shape().rank(), 3);
        y = y.transposed({0, 2, 1});
      }
      expect_near(y, c.output);
      ++read;
    } catch (const UnsupportedError&) {
      refused.insert(name);
    }
  }
  // Lengths that are computed from a mask.
  EXPECT_THAT(refused, Each(MatchesRegex("(gru|lstm|simple_rnn)_masked.*")));
  EXPECT_GT(read, 100);
}

TEST(OnnxImport, KeepsLayerNamesOverRoundTrips) {
  const auto names = [](const Model& model) {
    std::vector<std::string> result;
    for (const auto& layer : model.layers()) result.push_back(layer->name());
    return result;
  };
  for (const auto& path : golden_files("layers")) {
    SCOPED_TRACE(path.stem().string());
    // Their axis order alternates: a channel of one, and sequences without a
    // convolution.
    if (path.stem() == "zero_padding1d_ends" || path.stem() == "pad_tokens") {
      continue;
    }
    // Lengths that are computed from a mask are not imported.
    if (path.stem().string().find("_masked") != std::string::npos) continue;
    const Model first =
        from_onnx(to_onnx(golden_model(read_golden(path))).bytes);
    const Model second = from_onnx(to_onnx(first).bytes);
    EXPECT_EQ(names(from_onnx(to_onnx(second).bytes)), names(second));
  }
}

TEST(OnnxImport, IsPlacedLikeTheOriginalByEveryPolicy) {
  for (const char* name : {"resnet8", "pippin", "merry", "ds_cnn"}) {
    SCOPED_TRACE(name);
    const Model model = zoo::make(name, {});
    const Model back = from_onnx(to_onnx(model).bytes);
    for (const auto policy :
         {quant::Policy::tensorrt, quant::Policy::toolkit}) {
      const auto pairs = [&](const Model& m) {
        return quant::count_pairs(quant::place(m, {.policy = policy}).plan, m);
      };
      EXPECT_EQ(pairs(back).to_string(), pairs(model).to_string());
    }
    const auto by_patterns = [](const Model& m) {
      const quant::PatternPlacement placed = quant::place_by_patterns(m);
      return quant::count_pairs(placed.placement.plan, placed.model)
          .to_string();
    };
    EXPECT_EQ(by_patterns(back), by_patterns(model));
  }
}

TEST(OnnxImport, IsPreservedInOctetsFiles) {
  onnx::ModelProto proto = graph_model(
      "(float[N,3,9,7] image) => (float[N,2] y)",
      "a = Conv <kernel_shape = [3,3], strides = [2,2]> (image, w)\n"
      "b = Relu (a)\n"
      "c = Flatten (b)\n"
      "y = Gemm <transB = 1> (c, v)");
  add_noise(proto, "w", {4, 3, 3, 3});
  add_noise(proto, "v", {2, 48});
  proto.mutable_graph()->mutable_node(0)->set_name("/layer1/layer1.0/Conv");
  proto.mutable_graph()->mutable_node(3)->set_name("/layer1/../fc//./Gemm");
  const Model model = from_onnx(proto.SerializeAsString());
  EXPECT_EQ(model.layers().back()->name(), "layer1/fc/Gemm");
  const TempFolder folder;
  save_model(model, folder / "m.h5");
  const Model kept = load_model(folder / "m.h5");
  const std::vector<Tensor> x = noise_for(model);
  expect_near(kept.predict(x)[0], model.predict(x)[0]);
}

TEST(OnnxImport, ImportsExportedKerasModels) {
  int read = 0;
  if (!std::filesystem::exists(testdata("models"))) {
    GTEST_SKIP() << testdata() << ": no shared test data";
  }
  for (const auto& entry :
       std::filesystem::directory_iterator(testdata("models"))) {
    if (entry.path().extension() != ".h5") continue;
    SCOPED_TRACE(entry.path().filename().string());
    expect_returns(load_keras(entry.path()));
    ++read;
  }
  EXPECT_GT(read, 0);
}

TEST(OnnxImport, RearrangesBlocksInBothOrders) {
  Tensor x({2, 3, 4, 6});
  Rng(5).fill_uniform(x, -1, 1);
  for (const char* mode : {"DCR", "CRD"}) {
    onnx::ModelProto model = graph_model(
        "(float[N,3,4,6] x) => (float[N,12,2,3] y)",
        fmt::format("y = SpaceToDepth <blocksize = 2, mode = \"{}\"> (x)",
                    mode));
    model.mutable_opset_import(0)->set_version(28);
    model.set_ir_version(14);
    const std::string bytes = model.SerializeAsString();
    const Tensor y = from_onnx(bytes).predict(x.transposed({0, 2, 3, 1}));
    EXPECT_EQ(values(y.transposed({0, 3, 1, 2})),
              values(onnx_reference_from_bytes(bytes).predict(x)))
        << mode;
  }
}

}  // namespace
}  // namespace octet::io
