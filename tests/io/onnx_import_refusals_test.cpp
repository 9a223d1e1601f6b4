// Handwritten graphs that import rejects.
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

TEST(OnnxImportRefusals, ListsAllUnsupportedNodes) {
  const onnx::ModelProto model =
      graph_model("(float[N,3,8,8] x) => (float[N,3,8,8] y, float[N,3,8,8] z)",
                  "a = Atan (x)\n"
                  "b = Relu (a)\n"
                  "y = Cos (b)\n"
                  "c = Asinh (x)\n"
                  "z = Add (c, x)");
  const Failure failure = import_refusal(model);
  EXPECT_EQ(failure, (Failure{"unsupported_operator", "ONNX model"}));
  // Consequences of these are not reported.
  EXPECT_THAT(quoted_names(failure.text()), ElementsAre("a", "c"));
}

// Sizes are known except for the batch, which no constant may replace.
TEST(OnnxImportRefusals, RejectsNumbersThatDependOnTheBatchSize) {
  const auto refused = [](const char* ends, const std::string& nodes) {
    const std::string batch =
        "s = Shape (x)\n"
        "o = Constant <value = int64[1] {0}> ()\n"
        "n = Gather (s, o)\n";
    return import_refusal(graph_model(ends, batch + nodes)).code;
  };
  const char* image = "(float[N,1,3,4] x) => (float[N,A,B,C] y)";
  const char* row = "(float[N,4] x) => (float[N,4] y)";
  EXPECT_EQ(refused(row,
                    "m = Squeeze (n)\n"
                    "y = Loop <body = b (int64 i, bool c, float[N,4] v)\n"
                    "          => (bool d, float[N,4] w) {\n"
                    "  d = Identity (c)\n  w = Relu (v)\n"
                    "}> (m, , x)"),
            "unsupported_operator");
  EXPECT_EQ(refused(image,
                    "k = Constant <value = int64[3] {1, 3, 8}> ()\n"
                    "z = Constant <value = int64[3] {1, 1, 3}> ()\n"
                    "a = Concat <axis = 0> (n, z, n)\n"
                    "b = Constant <value = int64[4] {0, 1, 2, 4}> ()\n"
                    "r = Gather (a, b)\n"
                    "y = Resize (x, , , r)"),
            "unsupported_operator");
  EXPECT_EQ(refused("(float[N,4] x) => (float[N,4] y, int64[2] z)",
                    "y = Relu (x)\nz = Identity (s)"),
            "unsupported_model");
}

TEST(OnnxImportRefusals, RejectsEmptyConstants) {
  for (const char* op : {"Add", "Sub", "Mul", "Div"}) {
    onnx::ModelProto model =
        graph_model("(float[N,3,1] x) => (float[N,3,A] y)",
                    std::string("y = ") + op + " (x, none)");
    *model.mutable_graph()->add_initializer() = float_tensor("none", {0}, {});
    EXPECT_EQ(import_refusal(model).code, "unsupported_operator") << op;
  }
}

TEST(OnnxImportRefusals, ReportsUnsupportedUsesOfAnOperator) {
  const auto said = [](const std::string& nodes) {
    onnx::ModelProto model =
        graph_model("(float[N,4,9,7] x) => (float[N,A,B,C] y)", nodes);
    add_noise(model, "w", {4, 2, 3, 3});
    add_noise(model, "k", {9, 7});
    add_noise(model, "b", {2, 4, 1, 7});
    return import_refusal(model);
  };
  EXPECT_EQ(said("y = ConvTranspose <group = 3> (x, w)"),
            (Failure{"unsupported_operator", "node 'y' (ConvTranspose)"}));
  EXPECT_EQ(said("y = ConvTranspose <strides = [2,2], "
                 "output_padding = [2,2]> (x, w)"),
            (Failure{"unsupported_operator", "node 'y' (ConvTranspose)"}));
  EXPECT_EQ(said("y, i = MaxPool <kernel_shape = [2,2]> (x)\n"
                 "j = Relu (y)"),
            (Failure{"unsupported_operator", "node 'y' (MaxPool)"}));
  EXPECT_EQ(said("y = MaxPool <kernel_shape = [2,2], pads = [2,0,0,0]> (x)"),
            (Failure{"unsupported_operator", "node 'y' (MaxPool)"}));
  EXPECT_EQ(said("y = AveragePool <kernel_shape = [3,3], strides = [2,2], "
                 "pads = [1,0,0,0], ceil_mode = 1, count_include_pad = 1> "
                 "(x)"),
            (Failure{"unsupported_operator", "node 'y' (AveragePool)"}));
  EXPECT_EQ(said("y = HardSigmoid <alpha = 0.0> (x)"),
            (Failure{"unsupported_operator", "node 'y' (HardSigmoid)"}));
  EXPECT_EQ(said("y = Pow (x, x)"),
            (Failure{"unsupported_operator", "node 'y' (Pow)"}));
  EXPECT_EQ(said("c = Cast <to = 7> (x)\n y = Cast <to = 1> (c)"),
            (Failure{"unsupported_operator", "node 'c' (Cast)"}));
  EXPECT_EQ(said("p = Constant <value = int64[8] {1,0,0,0,0,0,0,0}> ()\n"
                 "y = Pad <mode = \"edge\"> (x, p)"),
            (Failure{"unsupported_operator", "node 'y' (Pad)"}));
  EXPECT_EQ(said("t = Constant <value = int64[4] {2,1,1,1}> ()\n"
                 "y = Tile (x, t)"),
            (Failure{"unsupported_operator", "node 'y' (Tile)"}));
  EXPECT_EQ(said("t = Constant <value = int64[4] {1,1,1000000,1}> ()\n"
                 "y = Tile (x, t)"),
            (Failure{"unsupported_operator", "node 'y' (Tile)"}));
  EXPECT_EQ(said("s = Constant <value_floats = [1.0, 1.0, 1.3333334, 1.0]>"
                 " ()\n"
                 "r = Constant <value_floats = [0.0]> ()\n"
                 "y = Resize <mode = \"nearest\", nearest_mode = \"floor\", "
                 "coordinate_transformation_mode = \"asymmetric\"> (x, r, s)"),
            (Failure{"unsupported_operator", "node 'y' (Resize)"}));
  const std::string places =
      "t = Transpose <perm = [1,0,2,3]> (x)\n"
      "i = Constant <value = int64[2,1] {1,3}> ()\n"
      "j = Constant <value = int64[2,1] {1,2}> ()\n"
      "a = Constant <value_ints = [0]> ()\n"
      "e = Constant <value_ints = [2]> ()\n"
      "u = Slice (t, a, e, a)\n";
  EXPECT_EQ(said(places + "r = ScatterND (t, i, u)\n"
                          "y = Transpose <perm = [1,0,2,3]> (r)"),
            (Failure{"unsupported_operator", "node 'r' (ScatterND)"}));
  EXPECT_EQ(said(places + "y = ScatterND (x, j, x)"),
            (Failure{"unsupported_operator", "node 'y' (ScatterND)"}));
  EXPECT_EQ(said("l = Constant <value_float = 2.0> ()\n"
                 "h = Constant <value_float = 1.0> ()\n"
                 "y = Clip (x, l, h)"),
            (Failure{"unsupported_operator", "node 'y' (Clip)"}));
  EXPECT_EQ(said("s = Constant <value_floats = [1.0, 1.0, 1.5, 1.5]> ()\n"
                 "r = Constant <value_floats = [0.0]> ()\n"
                 "y = Resize <mode = \"linear\"> (x, r, s)"),
            (Failure{"unsupported_operator", "node 'y' (Resize)"}));
  EXPECT_EQ(said("y = LogSoftmax <axis = 0> (x)"),
            (Failure{"unsupported_operator", "node 'y' (LogSoftmax)"}));
  EXPECT_EQ(said("y = Mul (x, b)"),
            (Failure{"unsupported_operator", "node 'y' (Mul)"}));
  EXPECT_EQ(said("y = Max (x, b)"),
            (Failure{"unsupported_operator", "node 'y' (Max)"}));
  EXPECT_EQ(said("y = Softmax <axis = 0> (x)"),
            (Failure{"unsupported_operator", "node 'y' (Softmax)"}));
  EXPECT_EQ(said("y = Concat <axis = 0> (x, x)"),
            (Failure{"unsupported_operator", "node 'y' (Concat)"}));
  EXPECT_EQ(said("y = Transpose <perm = [1,0,2,3]> (x)"),
            (Failure{"unsupported_model", "output 'y'"}));
  EXPECT_EQ(said("p = Constant <value = int64[8] {0,0,9,1,0,0,1,1}> ()\n"
                 "y = Pad <mode = \"reflect\"> (x, p)"),
            (Failure{"unsupported_operator", "node 'y' (Pad)"}));
}

// A query without keys would give zeros there, but NaN in the products.
TEST(OnnxImportRefusals, RejectsUnsupportedAttention) {
  const auto said = [](const std::string& node, int64_t opset = 23) {
    onnx::ModelProto model =
        graph_model("(float[N,5,8] q) => (float[N,5,8] y)", node);
    onnx::TensorProto* mask = model.mutable_graph()->add_initializer();
    mask->set_name("mask");
    mask->set_data_type(onnx::TensorProto::BOOL);
    for (const int64_t dim : {5, 5}) mask->add_dims(dim);
    for (int i = 0; i < 25; ++i) mask->add_int32_data(i / 5 == 2 ? 0 : 1);
    model.set_ir_version(10);
    model.mutable_opset_import(0)->set_version(opset);
    return import_refusal(model);
  };
  const std::string heads = "q_num_heads = 2, kv_num_heads = 2";
  EXPECT_EQ(said("y = Attention <" + heads + "> (q, q, q)").code, "no error");
  for (const std::string& node :
       {"y = Attention <" + heads + "> (q, q, q, mask)",
        "y = Attention <" + heads + ", softcap = 2.0> (q, q, q)",
        std::string("y = Attention <q_num_heads = 2> (q, q, q)"),
        std::string("y = Attention <q_num_heads = 4, kv_num_heads = 3> "
                    "(q, q, q)"),
        std::string("y = Attention <q_num_heads = 2, kv_num_heads = -2> "
                    "(q, q, q)"),
        std::string("y = Attention (q, q, q)"),
        "y, p = Attention <" + heads + "> (q, q, q)"}) {
    EXPECT_EQ(said(node),
              (Failure{"unsupported_operator", "node 'y' (Attention)"}))
        << node;
  }
  EXPECT_EQ(said("y = Attention <" + heads + "> (q, q, q)", 24),
            (Failure{"unsupported_operator", "node 'y' (Attention)"}));
}

}  // namespace
}  // namespace octet::io
