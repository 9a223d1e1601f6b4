// Models from ONNX: what Octet exports comes back and computes the same. What
// other exporters write is judged by tests/oracle/compare_import.py.
#include <cmath>
#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/io/checkpoint.h>
#include <octet/io/keras.h>
#include <octet/io/onnx.h>
#include <octet/io/onnx_import.h>
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

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

std::vector<Tensor> noise(const Model& model, int64_t samples = 2) {
  std::vector<Tensor> x;
  for (const SymbolicTensor& input : model.inputs()) {
    x.emplace_back(input.shape().with(0, samples));
    Rng(x.size()).fill_uniform(x.back(), -1, 1);
  }
  return x;
}

/// Sums in another order at most: of the largest output.
void expect_near(const Tensor& got, const Tensor& expected) {
  ASSERT_EQ(got.shape(), expected.shape());
  float largest = 1;
  for (const float v : expected.f32()) largest = std::max(largest, std::abs(v));
  for (size_t i = 0; i < got.f32().size(); ++i) {
    ASSERT_LE(std::abs(got.f32()[i] - expected.f32()[i]), 1e-5f * largest) << i;
  }
}

/// Its file as a model computes what the model does, and so does that one's.
void expect_returns(const Model& model) {
  const OnnxFile file = to_onnx(model);
  const Model back = from_onnx(file.bytes);
  const std::vector<Tensor> x = noise(model);
  const std::vector<Tensor> expected = model.predict(x);
  const std::vector<Tensor> got = back.predict(x);
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i) expect_near(got[i], expected[i]);
  const OnnxFile again = to_onnx(back);
  const Model twice = from_onnx(again.bytes);
  expect_near(twice.predict(x)[0], expected[0]);
}

struct Network {
  std::string name;
  zoo::Options options = {};
};

TEST(OnnxImport, TakesTheZooBack) {
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

TEST(OnnxImport, TakesLayersBackThatKerasComputedToo) {
  int read = 0;
  std::vector<std::string> refused;
  for (const auto& path : golden_files("layers")) {
    const std::string name = path.stem().string();
    SCOPED_TRACE(name);
    const GoldenCase c = read_golden(path);
    const Model model = golden_model(c);
    try {
      const Model back = from_onnx(to_onnx(model).bytes);
      std::vector<Tensor> inputs;
      for (const GoldenArray& x : c.inputs) {
        // A sequence that no convolution reads stays as the file has it.
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
      refused.push_back(name);
    }
  }
  // ReLU with a threshold is several operators, which no layer is like.
  EXPECT_THAT(refused, ElementsAre("relu_everything", "relu_threshold"));
  EXPECT_GT(read, 100);
}

/// Text of a graph as a model; `nodes` is its body.
onnx::ModelProto graph_of(const std::string& ends, const std::string& nodes) {
  return model_of("g " + ends + " {\n" + nodes + "\n}");
}

void add_noise(onnx::ModelProto& model, const std::string& name,
               const std::vector<int64_t>& dims) {
  Tensor values{Shape(std::span<const int64_t>(dims))};
  Rng(name.size()).fill_uniform(values, -1, 1);
  const auto all = values.f32();
  *model.mutable_graph()->add_initializer() =
      float_tensor(name, dims, {all.begin(), all.end()});
}

std::string refusal(const onnx::ModelProto& model,
                    const OnnxImportOptions& options = {}) {
  return error_of<UnsupportedError>(
      [&] { (void)from_onnx(model.SerializeAsString(), options); });
}

TEST(OnnxImport, ListsAllNodesThatAreNoLayers) {
  const onnx::ModelProto model =
      graph_of("(float[N,3,8,8] x) => (float[N,3,8,8] y, float[N,3,8,8] z)",
               "a = Sin (x)\n"
               "b = Relu (a)\n"
               "y = Cos (b)\n"
               "c = LRN <size = 3> (x)\n"
               "z = Add (c, x)");
  // What only follows from these is not told.
  EXPECT_THAT(refusal(model),
              AllOf(HasSubstr("got 2 that are not"), HasSubstr("'a' (Sin)"),
                    HasSubstr("'c' (LRN)"), Not(HasSubstr("(Cos)")),
                    Not(HasSubstr("(Add)")), Not(HasSubstr("(Relu)"))));
}

TEST(OnnxImport, SaysWhatOfAnOperatorIsNoLayer) {
  const auto said = [](const std::string& nodes) {
    onnx::ModelProto model =
        graph_of("(float[N,4,9,7] x) => (float[N,A,B,C] y)", nodes);
    add_noise(model, "w", {4, 2, 3, 3});
    add_noise(model, "k", {9, 7});
    return refusal(model);
  };
  EXPECT_THAT(said("y = ConvTranspose <group = 2> (x, w)"),
              HasSubstr("group: expected 1"));
  EXPECT_THAT(said("y = ConvTranspose <strides = [2,2], "
                   "output_padding = [1,1]> (x, w)"),
              HasSubstr("output_padding: expected at most the padding"));
  EXPECT_THAT(said("y, i = MaxPool <kernel_shape = [2,2]> (x)\n"
                   "j = Relu (y)"),
              HasSubstr("indices"));
  EXPECT_THAT(said("y = MaxPool <kernel_shape = [2,2], dilations = [2,1]> (x)"),
              HasSubstr("dilations: expected 1"));
  EXPECT_THAT(said("y = MaxPool <kernel_shape = [2,2], pads = [2,0,0,0]> (x)"),
              HasSubstr("padding: expected less than the window"));
  EXPECT_THAT(said("y = AveragePool <kernel_shape = [3,3], strides = [2,2], "
                   "pads = [1,0,0,0], ceil_mode = 1, count_include_pad = 1> "
                   "(x)"),
              HasSubstr("count_include_pad: expected 0 where ceil_mode"));
  EXPECT_THAT(said("y = HardSigmoid (x)"), HasSubstr("expected alpha 1/6"));
  EXPECT_THAT(said("y = Mul (x, k)"),
              HasSubstr("expected one number, or one a channel"));
  EXPECT_THAT(said("y = Softmax <axis = 0> (x)"),
              HasSubstr("axis: expected one of a sample"));
  EXPECT_THAT(said("y = Concat <axis = 0> (x, x)"),
              HasSubstr("axis: expected one of a sample"));
  EXPECT_THAT(said("y = Transpose <perm = [1,0,2,3]> (x)"),
              HasSubstr("expected the samples on axis 0"));
  EXPECT_THAT(said("p = Constant <value = int64[8] {0,0,1,1,0,0,1,1}> ()\n"
                   "y = Pad <mode = \"reflect\"> (x, p)"),
              HasSubstr("mode: expected constant, got reflect"));
}

TEST(OnnxImport, ReadsAllThatAnOperatorSays) {
  const auto said = [](int64_t opset, const std::string& nodes) {
    onnx::ModelProto model =
        graph_of("(float[N,4,6,10] x, float[N,10] z) => (float[A,B] y)", nodes);
    model.mutable_opset_import(0)->set_version(opset);
    return refusal(model);
  };
  const auto resized = [&](const std::string& sizes,
                           const std::string& attributes = "") {
    return said(18, "s = Constant <value = int64[4] {" + sizes +
                        "}> ()\na = Resize <mode = \"nearest\", "
                        "coordinate_transformation_mode = \"asymmetric\", "
                        "nearest_mode = \"floor\"" +
                        attributes +
                        "> (x, , , s)\nb = GlobalAveragePool (a)\n"
                        "c = Flatten (b)\nd = Flatten (z)\n"
                        "y = Concat <axis = 1> (c, d)");
  };
  EXPECT_THAT(resized("6,4,12,20"), HasSubstr("samples and the 4 channels"));
  EXPECT_THAT(resized("0,8,12,20"), HasSubstr("samples and the 4 channels"));
  EXPECT_THAT(
      resized("1,4,12,20", ", keep_aspect_ratio_policy = \"not_larger\""),
      HasSubstr("expected stretch, got 'not_larger'"));
  // -rank is the axis of the samples, 1 - rank the next.
  const auto flattened = [&](int axis) {
    return said(13, "a = Flatten <axis = " + std::to_string(axis) +
                        "> (x)\ny = Concat <axis = 1> (a, z)");
  };
  EXPECT_THAT(flattened(-4), HasSubstr("axis: expected 1"));
  EXPECT_THAT(flattened(0), HasSubstr("axis: expected 1"));
  EXPECT_EQ(flattened(-3), "");
  EXPECT_EQ(flattened(1), "");
  // The smaller rank first.
  EXPECT_THAT(said(13,
                   "a = Add (z, x)\nb = Flatten (a)\n"
                   "y = Concat <axis = 1> (b, z)"),
              HasSubstr("values of one rank"));
  EXPECT_THAT(said(13,
                   "a = AveragePool <kernel_shape = [1,1], strides = "
                   "[3,3], auto_pad = \"SAME_UPPER\"> (x)\n"
                   "b = Flatten (a)\ny = Concat <axis = 1> (b, z)"),
              HasSubstr("auto_pad"));
}

TEST(OnnxImport, ReadsOperatorsByTheirVersion) {
  const auto said = [](int64_t opset, const std::string& nodes) {
    onnx::ModelProto model =
        graph_of("(float[N,4] x) => (float[N,A] y)", nodes);
    model.mutable_opset_import(0)->set_version(opset);
    add_noise(model, "k", {4});
    add_noise(model, "w", {4, 3});
    return refusal(model);
  };
  EXPECT_THAT(said(6, "y = Add <axis = 1, broadcast = 1> (x, k)"),
              HasSubstr("axis: expected none"));
  EXPECT_THAT(said(6,
                   "a = MatMul (x, w)\n"
                   "b = Constant <value = float[3] {1.0,2.0,3.0}> ()\n"
                   "y = Mul <axis = 1, broadcast = 1> (a, b)"),
              HasSubstr("axis: expected none"));
  EXPECT_THAT(said(6, "y = PRelu (x, k)"), HasSubstr("before opset 7"));
  EXPECT_THAT(said(5, "y = Selu (x)"), HasSubstr("alpha and gamma"));
  EXPECT_THAT(said(6, "y = Dropout (x)"), HasSubstr("training_mode"));
  EXPECT_EQ(said(6, "y = Dropout <is_test = 1> (x)"), "");
  EXPECT_THAT(said(6, "y = BatchNormalization (x, k, k, k, k)"),
              HasSubstr("training_mode"));
  EXPECT_EQ(said(12, "y = Softmax (x)"), "");
  EXPECT_EQ(said(10, "y = Clip <min = 0.0, max = 3.0> (x)"), "");
}

TEST(OnnxImport, LeavesWhatIsRepeatedForEachSampleToTheFile) {
  // The sum of a token over the samples is no sum of one token.
  const onnx::ModelProto model =
      graph_of("(float[N,2,3] x) => (float[N,2,3] y)",
               "t = Constant <value = float[1,1,3] {1.0, 2.0, 3.0}> ()\n"
               "s = Shape (x)\n"
               "e = Expand (t, s)\n"
               "y = Add (x, e)");
  EXPECT_THAT(refusal(model), HasSubstr("repeated for each sample"));
  const onnx::ModelProto summed =
      graph_of("(float[N,1,3] x) => (float[N,1,3] y)",
               "t = Constant <value = float[1,1,3] {1.0, 2.0, 3.0}> ()\n"
               "s = Shape (x)\n"
               "e = Expand (t, s)\n"
               "a = ReduceMean <axes = [0], keepdims = 1> (e)\n"
               "y = Add (x, a)");
  EXPECT_THAT(refusal(summed), HasSubstr("ReduceMean"));
}

TEST(OnnxImport, KeepsTheNamesOfNodesAndValues) {
  onnx::ModelProto model =
      graph_of("(float[N,3,9,7] image) => (float[N,4,7,5] features)",
               "a = Conv <kernel_shape = [3,3]> (image, w)\n"
               "features = Relu (a)");
  model.mutable_graph()->mutable_node(0)->set_name("/layer1/layer1.0/Conv");
  add_noise(model, "w", {4, 3, 3, 3});
  const TempFolder folder;
  write_file(folder / "m.onnx", model.SerializeAsString());
  const OnnxImport imported = import_onnx(folder / "m.onnx");
  std::vector<std::string> names;
  for (const auto& layer : imported.model.layers()) {
    names.push_back(layer->name());
  }
  EXPECT_THAT(names, ElementsAre("image", "layer1/layer1.0/Conv", "features"));
  EXPECT_EQ(imported.model.name(), "g");
  ASSERT_EQ(imported.report.nodes.size(), 2u);
  EXPECT_EQ(imported.report.nodes[0].node, "/layer1/layer1.0/Conv");
  EXPECT_EQ(imported.report.nodes[0].layer, "layer1/layer1.0/Conv");
  EXPECT_EQ(imported.model.inputs()[0].shape(), (Shape{-1, 9, 7, 3}));
  EXPECT_THAT(imported.report.to_string(), HasSubstr("Relu"));
}

TEST(OnnxImport, TellsWhatBecameOfEachNode) {
  onnx::ModelProto model = graph_of("(float[N,3,9,7] x) => (float[N,5] y)",
                                    "t = Constant <value = float {3.0}> ()\n"
                                    "s = Constant <value = float {6.0}> ()\n"
                                    "z = Constant <value = float {0.0}> ()\n"
                                    "a = Add (x, t)\n"
                                    "b = Clip (a, z, s)\n"
                                    "c = Mul (x, b)\n"
                                    "d = Div (c, s)\n"
                                    "e = Transpose <perm = [0,2,3,1]> (d)\n"
                                    "f = Flatten (e)\n"
                                    "y = Gemm (f, w)");
  add_noise(model, "w", {189, 5});
  const TempFolder folder;
  write_file(folder / "m.onnx", model.SerializeAsString());
  const OnnxImport imported = import_onnx(folder / "m.onnx");
  const auto& nodes = imported.report.nodes;
  EXPECT_EQ(nodes[0].note, "constant");
  EXPECT_EQ(nodes[3].layer, "d");
  EXPECT_EQ(nodes[3].note, "part of HardSwish");
  EXPECT_EQ(nodes[6].layer, "d");
  EXPECT_EQ(nodes[7].note, "order of axes");
  EXPECT_EQ(imported.model.layer("d").activation(), "hard_swish");
  EXPECT_EQ(imported.model.layers().size(), 4u);  // no Permute
}

TEST(OnnxImport, TakesSizesThatAFileLeavesOpen) {
  onnx::ModelProto model =
      graph_of("(float[N,3,H,W] x) => (float[N,4,A,B] y)",
               "y = Conv <kernel_shape = [3,3], pads = [1,1,1,1]> (x, w)");
  add_noise(model, "w", {4, 3, 3, 3});
  EXPECT_THAT(refusal(model),
              AllOf(HasSubstr("expected known sizes, got [N,3,H,W]"),
                    HasSubstr("OnnxImportOptions::input_shapes")));
  const std::string bytes = model.SerializeAsString();
  const Model read = from_onnx(bytes, {.input_shapes = {{9, 7, 3}}});
  EXPECT_EQ(read.outputs()[0].shape(), (Shape{-1, 9, 7, 4}));
  const auto wrong = [&](const OnnxImportOptions& options) {
    return error_of<ValueError>([&] { (void)from_onnx(bytes, options); });
  };
  EXPECT_THAT(wrong({.input_shapes = {{3, 9, 7}}}),
              HasSubstr("with the channels last and without the batch, got "
                        "[3,9,7]"));
  EXPECT_THAT(wrong({.input_shapes = {{9, 7, 3}, {1}}}),
              HasSubstr("expected at most 1"));
}

TEST(OnnxImport, MakesOneLayerOfNodesWithOneWeight) {
  onnx::ModelProto model = graph_of("(float[N,6] x) => (float[N,6] y)",
                                    "a = Gemm (x, w)\n"
                                    "b = Relu (a)\n"
                                    "y = Gemm (b, w)");
  add_noise(model, "w", {6, 6});
  const Model read = from_onnx(model.SerializeAsString());
  EXPECT_EQ(read.parameter_count(), 36);
  EXPECT_EQ(read.nodes().size(), 4u);
  EXPECT_EQ(read.layers().size(), 3u);
}

TEST(OnnxImport, KeepsSamplesApart) {
  const auto said = [](const std::string& batch, const std::string& sizes) {
    return refusal(graph_of("(float[" + batch + ",4,6] x) => (float[A,B] y)",
                            "s = Constant <value = int64[2] {" + sizes +
                                "}> ()\ny = Reshape (x, s)"));
  };
  EXPECT_THAT(said("N", "-1, 6"), HasSubstr("keep the samples"));
  EXPECT_THAT(said("N", "1, -1"), HasSubstr("keep the samples"));
  EXPECT_THAT(said("2", "-1, 12"), HasSubstr("keep the samples"));
  EXPECT_EQ(said("2", "2, -1"), "");
  EXPECT_EQ(said("1", "1, -1"), "");
  EXPECT_EQ(said("N", "-1, 24"), "");
}

TEST(OnnxImport, IsPlacedByEveryPolicyAsTheModelItWas) {
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

TEST(OnnxImport, IsKeptInFilesOfOctets) {
  onnx::ModelProto proto =
      graph_of("(float[N,3,9,7] image) => (float[N,2] y)",
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
  const std::vector<Tensor> x = noise(model);
  expect_near(kept.predict(x)[0], model.predict(x)[0]);
}

TEST(OnnxImport, TakesModelsOfKerasThatWereExported) {
  int read = 0;
  if (!std::filesystem::exists(testdata("models"))) GTEST_SKIP();
  for (const auto& entry :
       std::filesystem::directory_iterator(testdata("models"))) {
    if (entry.path().extension() != ".h5") continue;
    SCOPED_TRACE(entry.path().filename().string());
    expect_returns(load_keras(entry.path()));
    ++read;
  }
  EXPECT_GT(read, 0);
}

}  // namespace
}  // namespace octet::io
