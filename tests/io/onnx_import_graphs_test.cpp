// Handwritten graphs: import of operators and names.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/io/onnx.h>
#include <octet/io/onnx_reference.h>
#include <octet/layers/layers.h>
#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>

#include "../facts.h"
#include "import_refusal.h"
#include "onnx_models.h"
#include "support.h"

namespace octet::io {
namespace {

using ::testing::ElementsAre;

TEST(OnnxImportGraphs, RecognizesGeluByTanh) {
  const auto classes = [](const std::string& factor) {
    onnx::ModelProto model = graph_model(
        "(float[N,5] x) => (float[N,5] y)",
        "three = Constant <value_float = 3.0> ()\n"
        "k = Constant <value_float = " +
            factor +
            "> ()\n"
            "b = Constant <value_float = 0.79788456> ()\n"
            "half = Constant <value_float = 0.5> ()\n"
            "one = Constant <value_float = 1.0> ()\n"
            "cube = Pow (x, three)\nterm = Mul (k, cube)\nsum = Add (x, term)\n"
            "inner = Mul (sum, b)\nt = Tanh (inner)\ngate = Add (t, one)\n"
            "xh = Mul (x, half)\ny = Mul (xh, gate)");
    const TempFolder folder;
    save(model, folder / "m.onnx");
    std::vector<std::string> names;
    for (const auto& layer : import_onnx(folder / "m.onnx").model.layers()) {
      names.push_back(layer->class_name());
    }
    return names;
  };
  EXPECT_EQ(classes("0.044715").size(), 2u);
  EXPECT_EQ(classes("0.044715").back(), "Activation");
  EXPECT_GT(classes("0.05").size(), 5u);
}

TEST(OnnxImportGraphs, HonorsAllAttributesOfAnOperator) {
  const auto said = [](int64_t opset, const std::string& nodes) {
    onnx::ModelProto model = graph_model(
        "(float[N,4,6,10] x, float[N,10] z) => (float[A,B] y)", nodes);
    model.mutable_opset_import(0)->set_version(opset);
    return import_refusal(model);
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
  EXPECT_EQ(resized("6,4,12,20"),
            (Failure{"unsupported_operator", "node 'a' (Resize)"}));
  EXPECT_EQ(resized("0,8,12,20"),
            (Failure{"unsupported_operator", "node 'a' (Resize)"}));
  EXPECT_EQ(resized("1,4,12,20", ", keep_aspect_ratio_policy = \"not_larger\""),
            (Failure{"unsupported_operator", "node 'a' (Resize)"}));
  // -rank is the batch axis, 1 - rank the next.
  const auto flattened = [&](int axis) {
    return said(13, "a = Flatten <axis = " + std::to_string(axis) +
                        "> (x)\ny = Concat <axis = 1> (a, z)");
  };
  EXPECT_EQ(flattened(-4),
            (Failure{"unsupported_operator", "node 'y' (Concat)"}));
  EXPECT_EQ(flattened(0),
            (Failure{"unsupported_operator", "node 'y' (Concat)"}));
  EXPECT_EQ(flattened(-3).code, "no error");
  EXPECT_EQ(flattened(1).code, "no error");
  // The smaller rank first.
  EXPECT_EQ(said(13,
                 "a = Add (z, x)\nb = Flatten (a)\n"
                 "y = Concat <axis = 1> (b, z)"),
            (Failure{"unsupported_operator", "node 'a' (Add)"}));
  EXPECT_EQ(said(13,
                 "a = AveragePool <kernel_shape = [1,1], strides = "
                 "[3,3], auto_pad = \"SAME_UPPER\"> (x)\n"
                 "b = Flatten (a)\ny = Concat <axis = 1> (b, z)"),
            (Failure{"unsupported_operator", "node 'a' (AveragePool)"}));
}

TEST(OnnxImportGraphs, ReadsOperatorsByTheirVersion) {
  const auto said = [](int64_t opset, const std::string& nodes) {
    onnx::ModelProto model =
        graph_model("(float[N,4] x) => (float[N,A] y)", nodes);
    model.mutable_opset_import(0)->set_version(opset);
    add_noise(model, "k", {4});
    add_noise(model, "w", {4, 3});
    return import_refusal(model);
  };
  EXPECT_EQ(said(6, "y = PRelu (x, k)").code, "no error");
  EXPECT_EQ(said(5, "y = Selu (x)"),
            (Failure{"unsupported_operator", "node 'y' (Selu)"}));
  EXPECT_EQ(said(6, "y = Dropout (x)").code, "no error");
  EXPECT_EQ(said(6, "y = Dropout <is_test = 1> (x)").code, "no error");
  EXPECT_EQ(said(12, "y = Softmax (x)").code, "no error");
  EXPECT_EQ(said(10, "y = Clip <min = 0.0, max = 3.0> (x)").code, "no error");
}

TEST(OnnxImportGraphs, RepeatsConstantsForEachSample) {
  const onnx::ModelProto two =
      graph_model("(float[N,2,3] x) => (float[N,2,3] y)",
                  "t = Constant <value = float[2,1,3] {1.0, 2.0, 3.0, 4.0, 5.0,"
                  " 6.0}> ()\n"
                  "s = Shape (x)\n"
                  "e = Expand (t, s)\n"
                  "y = Add (x, e)");
  EXPECT_EQ(import_refusal(two),
            (Failure{"unsupported_operator", "node 'e' (Expand)"}));
  // The sum of a token over the batch is not a sum within a sample.
  const onnx::ModelProto summed =
      graph_model("(float[N,1,3] x) => (float[N,1,3] y)",
                  "t = Constant <value = float[1,1,3] {1.0, 2.0, 3.0}> ()\n"
                  "s = Shape (x)\n"
                  "e = Expand (t, s)\n"
                  "a = ReduceMean <axes = [0], keepdims = 1> (e)\n"
                  "y = Add (x, a)");
  EXPECT_EQ(import_refusal(summed),
            (Failure{"unsupported_operator", "node 'a' (ReduceMean)"}));
}

TEST(OnnxImportGraphs, KeepsTheNamesOfNodesAndValues) {
  onnx::ModelProto model =
      graph_model("(float[N,3,9,7] image) => (float[N,4,7,5] features)",
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
  EXPECT_EQ(imported.report.nodes[1].op, "Relu");
}

TEST(OnnxImportGraphs, ReportsTheImportOfEachNode) {
  onnx::ModelProto model = graph_model("(float[N,3,9,7] x) => (float[N,5] y)",
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
  EXPECT_EQ(imported.model.layer("d").facts().activation, "hard_swish");
  EXPECT_EQ(imported.model.layers().size(), 4u);  // no Permute
}

TEST(OnnxImportGraphs, AcceptsSizesForDynamicAxes) {
  onnx::ModelProto model =
      graph_model("(float[N,3,H,W] x) => (float[N,4,A,B] y)",
                  "y = Conv <kernel_shape = [3,3], pads = [1,1,1,1]> (x, w)");
  add_noise(model, "w", {4, 3, 3, 3});
  EXPECT_EQ(import_refusal(model), (Failure{"unsupported_model", "input 'x'"}));
  const std::string bytes = model.SerializeAsString();
  const Model read = from_onnx(bytes, {.input_shapes = {{9, 7, 3}}});
  EXPECT_EQ(read.outputs()[0].shape(), (Shape{-1, 9, 7, 4}));
  const auto wrong = [&](const OnnxImportOptions& options) {
    return failure_of<ValueError>([&] { (void)from_onnx(bytes, options); });
  };
  EXPECT_EQ(wrong({.input_shapes = {{3, 9, 7}}}),
            (Failure{"shape_mismatch", "OnnxImportOptions.input_shapes"}));
  EXPECT_EQ(wrong({.input_shapes = {{9, 7, 3}, {1}}}),
            (Failure{"count_mismatch", "OnnxImportOptions.input_shapes"}));
}

TEST(OnnxImportGraphs, ReportsARejectedPairOnce) {
  onnx::ModelProto model =
      graph_model("(float[N,3,4,5] x) => (float[N,3,4,5] y)",
                  "z = Constant <value = int8[3] {0,0,0}> ()\n"
                  "q = QuantizeLinear <axis = 1> (x, s, z)\n"
                  "d = DequantizeLinear <axis = 1> (q, s, z)\ny = Relu (d)");
  *model.mutable_graph()->add_initializer() =
      float_tensor("s", {3}, {0.1f, 0.2f, 0.3f});
  EXPECT_EQ(import_refusal(model),
            (Failure{"unsupported_operator", "node 'd' (DequantizeLinear)"}));
}

// Nodes without a layer of their name: a Relu that is named by its output, a
// Flatten before a Gemm, and one that has no effect.
TEST(OnnxImportGraphs, FindsOutputsByTheNamesOfNodes) {
  onnx::ModelProto model =
      graph_model("(float[N,3,4,5] x) => (float[N,2] y, float[N,3] z)",
                  "a = Relu (x)\nb = Flatten (a)\nc = Gemm (b, w)\n"
                  "y = Relu (c)\nd = GlobalAveragePool (a)\nz = Flatten (d)");
  add_noise(model, "w", {60, 2});
  const std::vector<std::string> names{"/relu", "/flatten",     "/fc",
                                       "/last", "/global_pool", "/flatten_1"};
  for (size_t i = 0; i < names.size(); ++i) {
    model.mutable_graph()
        ->mutable_node(static_cast<int>(i))
        ->set_name(names[i]);
  }
  const Model read = from_onnx(model.SerializeAsString());
  EXPECT_EQ(read.output("relu").shape(), (Shape{-1, 4, 5, 3}));
  EXPECT_EQ(read.output("flatten").shape(), (Shape{-1, 60}));
  EXPECT_EQ(read.output("fc").shape(), (Shape{-1, 2}));
  EXPECT_EQ(read.output("last").node, read.outputs()[0].node);
  EXPECT_EQ(read.output("global_pool").shape(), (Shape{-1, 3}));
  EXPECT_EQ(read.output("flatten_1").node, read.outputs()[1].node);
  const Tensor x = Tensor::full({2, 4, 5, 3}, 1);
  EXPECT_EQ(Model(read.inputs()[0], read.output("flatten")).predict(x).size(),
            120);
}

// PyTorch's F.normalize. A sample of zeros has no direction and no gradient.
TEST(OnnxImportGraphs, ImportsDivisionByTheNormAsALayer) {
  const auto file = [](const std::string& least, const std::string& axis) {
    return graph_model(
        "(float[N,3,4] x) => (float[N,A,4] y)",
        "e = Constant <value_float = " + least +
            "> ()\n l = ReduceL2 <axes = [" + axis +
            "]> (x)\n c = Clip (l, e)\n s = Shape (x)\n o = Expand (c, s)\n"
            "y = Div (x, o)");
  };
  const auto normalizes = [](const Model& model) {
    return std::ranges::any_of(model.layers(), [](const auto& layer) {
      return layer->class_name() == "UnitNormalization";
    });
  };
  const Tensor x =
      Tensor::of<float>({2, 3, 4}, {3, 4, 0, 0, -1, 1, 1, 1, 0, 0, 0, 0,  //
                                    0, 2, 0, 0, 5,  0, 0, 5, 0, 0, 0, 0});
  for (const std::string axis : {"-1", "1"}) {
    const std::string bytes = file("1e-12", axis).SerializeAsString();
    const Model model = from_onnx(bytes);
    EXPECT_TRUE(normalizes(model));
    Tensor y = model.predict(x);
    if (axis == "1")
      y = y.transposed({0, 2, 1});  // as a sequence in Octet's layout
    const Tensor expected = onnx_reference_from_bytes(bytes).predict(x);
    for (size_t i = 0; i < y.f32().size(); ++i) {
      EXPECT_NEAR(y.f32()[i], expected.f32()[i], 1e-6f);
    }
    const Variable v(x, true);
    sum(square(model(v))).backward();
    for (const float g : v.grad().f32()) EXPECT_TRUE(std::isfinite(g));
  }
  EXPECT_FALSE(normalizes(from_onnx(file("0.5", "-1").SerializeAsString())));
}

TEST(OnnxImportGraphs, ImportsNodesWithOneWeightAsOneLayer) {
  onnx::ModelProto model = graph_model("(float[N,6] x) => (float[N,6] y)",
                                       "a = Gemm (x, w)\n"
                                       "b = Relu (a)\n"
                                       "y = Gemm (b, w)");
  add_noise(model, "w", {6, 6});
  const Model read = from_onnx(model.SerializeAsString());
  EXPECT_EQ(read.parameter_count(), 36);
  EXPECT_EQ(read.nodes().size(), 4u);
  EXPECT_EQ(read.layers().size(), 3u);
}

}  // namespace
}  // namespace octet::io
