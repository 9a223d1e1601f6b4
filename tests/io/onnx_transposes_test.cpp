// Import and export of a graph adds no Transposes and keeps its outputs. The
// reference executor compares both files.
#include <algorithm>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/onnx_pb.h>

#include <octet/io/lint.h>
#include <octet/io/onnx.h>
#include <octet/io/onnx_reference.h>
#include <octet/layers/layers.h>
#include <octet/layers/zoo.h>
#include <octet/runtime/file.h>

#include "../support.h"
#include "../temp_folder.h"
#include "onnx_models.h"
#include "onnx_run.h"
#include "support.h"

namespace octet::io {
namespace {

int64_t nodes_of(const onnx::ModelProto& model, const std::string& op) {
  return std::ranges::count(model.graph().node(), op,
                            &onnx::NodeProto::op_type);
}

/// Nodes that move data between axes.
int64_t movements(const onnx::ModelProto& model) {
  return nodes_of(model, "Transpose") + nodes_of(model, "DepthToSpace") +
         nodes_of(model, "SpaceToDepth");
}

onnx::ModelProto exported_again(const onnx::ModelProto& model,
                                const OnnxExportOptions& options = {}) {
  const TempFolder folder;
  const auto path = folder.path() / "m.onnx";
  write_file(path, model.SerializeAsString());
  const OnnxImport imported = import_onnx(path);
  OnnxExportOptions own = options;
  own.interface = imported.interface;
  onnx::ModelProto result;
  result.ParseFromString(to_onnx(imported.model, own).bytes);
  return result;
}

/// Adds noise for the inputs of nodes that are named by their shape:
/// `w4x3x1x1`.
onnx::ModelProto with_weights(const std::string& ends,
                              const std::string& nodes) {
  onnx::ModelProto model = graph_model(ends, nodes);
  std::set<std::string> names;
  for (const auto& node : model.graph().node()) {
    for (const auto& input : node.input()) {
      if (input.starts_with('w')) names.insert(input);
    }
  }
  for (const std::string& name : names) {
    std::vector<int64_t> dims;
    std::istringstream text(name);
    int64_t size = 0;
    for (char separator = 0; text >> separator >> size;) dims.push_back(size);
    add_noise(model, name, dims);
  }
  return model;
}

void expect_no_more_transposes(const onnx::ModelProto& model,
                               const std::vector<Tensor>& inputs) {
  const onnx::ModelProto again = exported_again(model);
  EXPECT_LE(movements(again), movements(model));
  const auto expected = to_run(model).predict(inputs);
  const auto actual = to_run(again).predict(inputs);
  ASSERT_EQ(expected.size(), actual.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    ASSERT_EQ(actual[i].shape(), expected[i].shape());
    expect_equal(actual[i], expected[i]);
  }
  for (const LintFinding& finding :
       lint_onnx_bytes(again.SerializeAsString()).findings) {
    EXPECT_NE(finding.id, "P21");
  }
}

TEST(TransposeBound, ReshapesOfImages) {
  expect_no_more_transposes(
      with_weights("(float[N,3,6,10] x) => (float[N,5,60] y)",
                   "c = Conv (x, w5x3x1x1)\n"
                   "s = Constant <value = int64[3] {0,5,-1}> ()\n"
                   "y = Reshape (c, s)"),
      {noise({2, 3, 6, 10})});
}

TEST(TransposeBound, DepthToSpaceAndBack) {
  for (const char* mode : {"DCR", "CRD"}) {
    expect_no_more_transposes(
        with_weights("(float[N,3,6,10] x) => (float[N,12,6,10] y)",
                     "c = Conv (x, w12x3x1x1)\n"
                     "d = DepthToSpace <blocksize = 2, mode = \"" +
                         std::string(mode) +
                         "\"> (c)\n"
                         "r = Relu (d)\n"
                         "y = SpaceToDepth <blocksize = 2> (r)"),
        {noise({2, 3, 6, 10})});
  }
}

// Two scales of a detector; boxes by softmax over bins, as in YOLOv8.
TEST(TransposeBound, DetectionHead) {
  expect_no_more_transposes(
      with_weights("(float[N,3,8,12] x) => (float[N,7,120] y)",
                   "a = Conv (x, w19x3x1x1)\n"
                   "b = Conv <strides = [2,2]> (x, w19x3x1x2)\n"
                   "flat = Constant <value = int64[3] {0,19,-1}> ()\n"
                   "fa = Reshape (a, flat)\n"
                   "fb = Reshape (b, flat)\n"
                   "all = Concat <axis = 2> (fa, fb)\n"
                   "parts = Constant <value = int64[2] {16,3}> ()\n"
                   "box, class = Split <axis = 1> (all, parts)\n"
                   "bins = Constant <value = int64[4] {0,4,4,120}> ()\n"
                   "d = Reshape (box, bins)\n"
                   "t = Transpose <perm = [0,2,1,3]> (d)\n"
                   "s = Softmax <axis = 1> (t)\n"
                   "e = Conv (s, w1x4x1x1)\n"
                   "sides = Constant <value = int64[3] {0,4,120}> ()\n"
                   "f = Reshape (e, sides)\n"
                   "p = Sigmoid (class)\n"
                   "y = Concat <axis = 1> (f, p)"),
      {noise({2, 3, 8, 12})});
}

// Anchors on an axis of their own, channels last, as in YOLOv5.
TEST(TransposeBound, AnchorHead) {
  expect_no_more_transposes(
      with_weights("(float[N,3,4,6] x) => (float[N,72,7] y)",
                   "a = Conv (x, w21x3x1x1)\n"
                   "grid = Constant <value = int64[5] {0,3,7,4,6}> ()\n"
                   "g = Reshape (a, grid)\n"
                   "t = Transpose <perm = [0,1,3,4,2]> (g)\n"
                   "s = Sigmoid (t)\n"
                   "parts = Constant <value = int64[2] {2,5}> ()\n"
                   "xy, rest = Split <axis = 4> (s, parts)\n"
                   "m = Mul (xy, w1x3x4x6x2)\n"
                   "c = Concat <axis = 4> (m, rest)\n"
                   "rows = Constant <value = int64[3] {0,-1,7}> ()\n"
                   "y = Reshape (c, rows)"),
      {noise({2, 3, 4, 6})});
}

// Channels as tokens of two heads, as in YOLOv11 and in mobile networks.
TEST(TransposeBound, AttentionOverPixels) {
  expect_no_more_transposes(
      with_weights("(float[N,6,4,5] x) => (float[N,6,4,5] y)",
                   "qkv = Conv (x, w12x6x1x1)\n"
                   "heads = Constant <value = int64[4] {0,2,6,20}> ()\n"
                   "h = Reshape (qkv, heads)\n"
                   "parts = Constant <value = int64[3] {1,2,3}> ()\n"
                   "q, k, v = Split <axis = 2> (h, parts)\n"
                   "qt = Transpose <perm = [0,1,3,2]> (q)\n"
                   "z = Constant <value = int64[1] {0}> ()\n"
                   "o = Constant <value = int64[1] {1}> ()\n"
                   "two = Constant <value = int64[1] {2}> ()\n"
                   "k1 = Slice (k, z, o, two)\n"
                   "a = MatMul (qt, k1)\n"
                   "s = Softmax <axis = -1> (a)\n"
                   "st = Transpose <perm = [0,1,3,2]> (s)\n"
                   "m = MatMul (v, st)\n"
                   "image = Constant <value = int64[4] {0,6,4,5}> ()\n"
                   "r = Reshape (m, image)\n"
                   "y = Add (x, r)"),
      {noise({2, 6, 4, 5})});
}

TEST(TransposeBound, ProductsOnBothSides) {
  expect_no_more_transposes(with_weights("(float[N,7,5] x) => (float[N,9,6] y)",
                                         "a = MatMul (w4x7, x)\n"
                                         "r = Relu (a)\n"
                                         "b = MatMul (r, w5x6)\n"
                                         "y = MatMul (w9x4, b)"),
                            {noise({2, 7, 5})});
}

TEST(TransposeBound, PoolingAndNormalizationBesideOtherAxes) {
  expect_no_more_transposes(
      with_weights("(float[N,5,7] x) => (float[N,5,7] y, float[N,5,1] z)",
                   "flat = Constant <value = int64[2] {-1,7}> ()\n"
                   "f = Reshape (x, flat)\n"
                   "positive = Constant <value = float[7] {1,2,3,1,2,3,1}> ()\n"
                   "b = BatchNormalization (f, w7, w7, w7, positive)\n"
                   "back = Constant <value = int64[3] {-1,5,7}> ()\n"
                   "y = Reshape (b, back)\n"
                   "z = ReduceMean <axes = [2]> (y)"),
      {noise({2, 5, 7})});
}

TEST(TransposeBound, FeaturesOfAnImageInTheOrderOfTheFile) {
  expect_no_more_transposes(
      with_weights("(float[N,2,4,5] x) => (float[N,6] y)",
                   "c = Conv (x, w3x2x1x1)\n"
                   "f = Flatten (c)\n"
                   "one = Constant <value = float[1] {1}> ()\n"
                   "sixty = Constant <value = int64[1] {60}> ()\n"
                   "positive = Expand (one, sixty)\n"
                   "b = BatchNormalization (f, w60, w60, w60, positive)\n"
                   "r = Relu (b)\n"
                   "y = Gemm <transB = 1> (r, w6x60)"),
      {noise({2, 2, 4, 5})});
}

TEST(TransposeBound, BatchNormalizationWithoutConvolution) {
  for (const char* ends : {"(float[N,3,10] x) => (float[N,3,10] y)",
                           "(float[N,3,2,4,5] x) => (float[N,3,2,4,5] y)"}) {
    const bool sequence = std::string(ends).find("10") != std::string::npos;
    expect_no_more_transposes(
        with_weights(ends,
                     "positive = Constant <value = float[3] {1,2,3}> ()\n"
                     "y = BatchNormalization (x, w3, w3, w3, positive)"),
        {noise(sequence ? Shape{2, 3, 10} : Shape{2, 3, 2, 4, 5})});
  }
}

TEST(TransposeBound, SeveralConsumersOfAFlattenedImage) {
  expect_no_more_transposes(
      with_weights("(float[N,3,4,5] x) => (float[N,6] a, float[N,40] b)",
                   "c = Conv (x, w2x3x1x1)\n"
                   "t = Transpose <perm = [0,2,3,1]> (c)\n"
                   "f = Flatten (t)\n"
                   "a = Gemm <transB = 1> (f, w6x40)\n"
                   "r = Relu (f)\n"
                   "b = Mul (r, w40)"),
      {noise({2, 3, 4, 5})});
}

TEST(TransposeBound, QueryKeyAndValueShareATranspose) {
  expect_no_more_transposes(with_weights("(float[N,6,4] x) => (float[N,4,7] y)",
                                         "t = Transpose <perm = [0,2,1]> (x)\n"
                                         "q = MatMul (t, w6x5)\n"
                                         "k = MatMul (t, w6x5)\n"
                                         "v = MatMul (t, w6x7)\n"
                                         "kt = Transpose <perm = [0,2,1]> (k)\n"
                                         "a = MatMul (q, kt)\n"
                                         "s = Softmax <axis = -1> (a)\n"
                                         "y = MatMul (s, v)"),
                            {noise({2, 6, 4})});
}

TEST(TransposeBound, AWeightWithOtherConsumersIsStoredTwice) {
  expect_no_more_transposes(
      with_weights("(float[N,3,4,4] x) => (float[N,4,4,3] y, float[N,3,4,4] z)",
                   "t = Transpose <perm = [0,2,3,1]> (x)\n"
                   "y = Mul (t, w1x4x4x3)\n"
                   "k = Transpose <perm = [0,3,1,2]> (w1x4x4x3)\n"
                   "z = Mul (x, k)"),
      {noise({2, 3, 4, 4})});
}

// A Transpose of axes of which some have size 1 is no SpaceToDepth, whose
// output has other sizes.
TEST(TransposeBound, ProductsBesideAnAxisOfSize1) {
  expect_no_more_transposes(
      with_weights("(float[N,1,5,5] x) => (float[N,1,7,5] y)",
                   "y = MatMul (w7x5, x)"),
      {noise({2, 1, 5, 5})});
}

TEST(TransposeBound, AReshapeOfAnotherOutput) {
  expect_no_more_transposes(
      with_weights("(float[N,1,1] x) => (float[N,1,1] y, float[N,1,1] z, "
                   "float[N,1] w)",
                   "r = Relu (x)\n"
                   "y = Transpose <perm = [0,1,2]> (r)\n"
                   "rows = Constant <value = int64[2] {-1,1}> ()\n"
                   "w = Reshape (r, rows)\n"
                   "z = ReduceMean <axes = [-1]> (x)"),
      {noise({2, 1, 1})});
}

// Exported images are flattened in the order of their channels.
TEST(TransposeBound, IndexOfTheLargestPixel) {
  expect_no_more_transposes(
      with_weights("(float[N,3,4,5] x) => (float[N,1] y)",
                   "c = Conv (x, w2x3x1x1)\n"
                   "t = Transpose <perm = [0,2,3,1]> (c)\n"
                   "f = Flatten (t)\n"
                   "i = ArgMax <axis = 1> (f)\n"
                   "y = Cast <to = 1> (i)"),
      {noise({2, 3, 4, 5})});
}

TEST(TransposeBound, InTheZooOnlyOfAttention) {
  for (const zoo::Entry& entry : zoo::entries()) {
    SCOPED_TRACE(entry.name);
    onnx::ModelProto model;
    model.ParseFromString(to_onnx(entry.make({})).bytes);
    // Queries, keys, values and the result of each block; features of an image
    // as output, in Keras' order.
    const int64_t attention = 4 * nodes_of(model, "Softmax");
    EXPECT_LE(nodes_of(model, "Transpose"), entry.classes == 0 ? 1 : attention);
  }
}

}  // namespace
}  // namespace octet::io
