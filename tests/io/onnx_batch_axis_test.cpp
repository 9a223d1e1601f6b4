// ONNX import of files whose inputs have no common batch axis. The executor of
// files, which knows no batches, computes the expected outputs.
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/io/compare.h>
#include <octet/io/model_file.h>
#include <octet/io/onnx.h>
#include <octet/io/onnx_reference.h>
#include <octet/quant/quant.h>
#include <octet/runtime/rng.h>

#include "onnx_models.h"
#include "onnx_round_trip.h"
#include "support.h"

namespace octet::io {
namespace {

using ::testing::HasSubstr;

/// Each sample of the imported model has the file's outputs, and so has the
/// export, whose inputs and outputs are those of the file.
void expect_same(const std::string& graph) {
  SCOPED_TRACE(graph);
  const TempFolder folder;
  const OnnxImport read = import_of(graph, folder);
  const OnnxReference file = load_onnx_reference(folder / "m.onnx");
  std::vector<Tensor> samples, x;
  for (size_t i = 0; i < file.inputs().size(); ++i) {
    samples.emplace_back(read.model.inputs()[i].shape().with(0, 3));
    Rng(i + 1).fill_uniform(samples.back(), -1, 1);
  }
  const std::vector<Tensor> got = read.model.predict(samples);
  for (int64_t n = 0; n < 3; ++n) {
    x.clear();
    for (size_t i = 0; i < samples.size(); ++i) {
      const auto rank = static_cast<int>(file.inputs()[i].shape->size());
      const Tensor row = samples[i].slice(n, 1);
      x.push_back(row.shape().rank() == rank
                      ? row
                      : row.reshaped(row.shape().slice(1, rank + 1)));
    }
    expect_round_trip(read, folder, x);
    const std::vector<Tensor> expected = file.predict(x);
    for (size_t i = 0; i < expected.size(); ++i) {
      const Tensor row = got[i].slice(n, 1);
      expect_close(row.reshaped(expected[i].shape()), expected[i]);
    }
  }
}

TEST(OnnxBatchAxis, IsAddedToVectors) {
  expect_same(
      "g (float[5] x) => (float[2] y) {\n"
      "  w = Constant <value = float[5,2] {1,-2,3,4,-5,6,7,-8,9,1}> ()\n"
      "  b = Constant <value = float[2] {0.5,-0.25}> ()\n"
      "  p = MatMul (x, w)\n"
      "  s = Add (p, b)\n"
      "  y = Relu (s)\n"
      "}");
  // A matrix on the left, and a bias with a leading axis.
  expect_same(
      "g (float[3] x) => (float[1,2] y) {\n"
      "  w = Constant <value = float[2,3] {1,-2,3,4,-5,6}> ()\n"
      "  b = Constant <value = float[1,2] {0.5,-0.25}> ()\n"
      "  p = MatMul (w, x)\n"
      "  y = Add (p, b)\n"
      "}");
}

TEST(OnnxBatchAxis, IsTheLeadingAxisThatNodesAdd) {
  const std::string dense =
      "  w = Constant <value = float[4,2] {1,-2,3,4,-5,6,7,-8}> ()\n";
  expect_same("g (float[4] x) => (float[1,2] y) {\n" + dense +
              "  s = Constant <value = int64[2] {1, 4}> ()\n"
              "  r = Reshape (x, s)\n"
              "  y = Gemm (r, w)\n"
              "}");
  expect_same("g (float[4] x) => (float[2] y) {\n" + dense +
              "  a = Constant <value = int64[1] {0}> ()\n"
              "  r = Unsqueeze (x, a)\n"
              "  g = Gemm (r, w)\n"
              "  y = Squeeze (g, a)\n"
              "}");
  expect_same("g (float[4] x) => (float[2] y) {\n" + dense +
              "  s = Constant <value = int64[1] {-1}> ()\n"
              "  r = Flatten <axis = 0> (x)\n"
              "  g = Gemm (r, w)\n"
              "  y = Reshape (g, s)\n"
              "}");
}

TEST(OnnxBatchAxis, MovesTheAxesOfOperators) {
  expect_same(
      "g (float[6] x, float[2] z) => (float[2,4] y) {\n"
      "  from = Constant <value = int64[1] {-5}> ()\n"
      "  to = Constant <value = int64[1] {-1}> ()\n"
      "  at = Constant <value = int64[3] {5, 0, 2}> ()\n"
      "  more = Constant <value = float[3] {1, 2, 3}> ()\n"
      "  sizes = Constant <value = int64[2] {4, 2}> ()\n"
      "  parts = Constant <value = int64[2] {8, 4}> ()\n"
      "  s = Slice (x, from, to)\n"
      "  e = Gather (x, at)\n"
      "  c = Concat <axis = 0> (s, z, e)\n"
      "  d = Concat <axis = -1> (c, more)\n"
      "  p = Softmax <axis = 0> (d)\n"
      "  q, rest = Split <axis = 0> (p, parts)\n"
      "  m = ReduceMean <keepdims = 1> (q)\n"
      "  n = Sub (q, m)\n"
      "  r = Reshape (n, sizes)\n"
      "  y = Transpose <perm = [1, 0]> (r)\n"
      "}");
}

// Shapes of samples, and sizes of a fixed batch, decide at import.
TEST(OnnxBatchAxis, IsKnownToConditions) {
  const std::string branches =
      "  y = If <then_branch = t () => (float[a] p) {p = Neg (x)},\n"
      "          else_branch = e () => (float[a] p) {p = Exp (x)}> (is)\n"
      "}";
  expect_same(
      "g (float[4] x) => (float[4] y) {\n"
      "  four = Constant <value = int64[1] {4}> ()\n"
      "  sizes = Shape (x)\n"
      "  is = Equal (sizes, four)\n" +
      branches);
  expect_same(
      "g (float[1,4] x) => (float[1,4] y) {\n"
      "  zero = Constant <value = int64 {0}> ()\n"
      "  two = Constant <value = int64 {2}> ()\n"
      "  sizes = Shape (x)\n"
      "  batch = Gather (sizes, zero)\n"
      "  is = Less (two, batch)\n" +
      branches);
}

// A node with a shared axis, [N*3,2], applies to each row.
TEST(OnnxBatchAxis, MayBeSharedWithOtherValues) {
  expect_same(
      "g (float[N,6] x) => (float[N,42] y) {\n"
      "  rows = Constant <value = int64[2] {-1, 2}> ()\n"
      "  at = Constant <value = int64[3] {1, 0, 1}> ()\n"
      "  two = Constant <value = int64[2] {1, 2}> ()\n"
      "  pads = Constant <value = int64[4] {0, 1, 0, 1}> ()\n"
      "  more = Constant <value = float[1,2] {0.5, -2}> ()\n"
      "  back = Constant <value = int64[2] {-1, 42}> ()\n"
      "  r = Reshape (x, rows)\n"
      "  s = Add (r, more)\n"
      "  g = Gather <axis = 1> (s, at)\n"
      "  c = Concat <axis = 1> (g, s)\n"
      "  p = Pad (c, pads)\n"
      "  m = Softmax <axis = 1> (p)\n"
      "  t = Tile (m, two)\n"
      "  y = Reshape (t, back)\n"
      "}");
}

TEST(OnnxImport, RepeatsValuesToTheSizeOfConstants) {
  for (const char* op : {"Mul", "Add", "Div", "Sub"}) {
    expect_same(
        "g (float[N,5,1] x) => (float[N,5,4] y) {\n"
        "  c = Constant <value = float[4] {1, -2, 4, 0.5}> ()\n"
        "  y = " +
        std::string(op) + " (x, c)\n}");
  }
}

// As a batch, they would have another meaning.
TEST(OnnxBatchAxis, IsAbsentIfFirstSizesDiffer) {
  expect_same(
      "g (float[1,3] x, float[4,3] z, float s) => (float[4,3] y) {\n"
      "  m = Mul (x, z)\n  y = Add (m, s)\n}");
  expect_same(
      "g (float[3,4] x, float[5,4] z) => (float[3,5] y, float[4,5] u) {\n"
      "  u = Transpose (z)\n  y = MatMul (x, u)\n}");
  expect_same("g (float s) => (float y) {\n  y = Exp (s)\n}");
}

// The file's sizes are fixed, and its nodes combine entries of the first axis.
TEST(OnnxBatchAxis, IsAbsentIfNodesCombineItsEntries) {
  struct {
    const char* shape;
    const char* nodes;
  } const cases[] = {{"4,3", "y = Softmax <axis = 0> (x)"},
                     {"4,3", "y = CumSum (x, zero)"},
                     {"3,3", "y = Gather <axis = 0> (x, places)"},
                     {"8,3", "y = Concat <axis = 0> (x, x)"},
                     {"1,1", "y = ReduceSum (x)"},
                     {"3,4", "y = Transpose <perm = [1,0]> (x)"}};
  for (const auto& [shape, nodes] : cases) {
    const WarningCapture warnings;
    expect_same("g (float[4,3] x) => (float[" + std::string(shape) +
                "] y) {\n"
                "  zero = Constant <value = int64 {0}> ()\n"
                "  places = Constant <value = int64[3] {3, 0, 1}> ()\n  " +
                nodes + "\n}");
    ASSERT_FALSE(warnings.messages.empty()) << nodes;
    EXPECT_EQ(warnings.messages[0], (Failure{"one_sample", "ONNX model"}));
  }
}

// Also for several samples.
TEST(OnnxBatchAxis, IsAbsentInConstantOutputs) {
  for (const std::string shape : {"1,2,3", "2,3", "6"}) {
    SCOPED_TRACE(shape);
    const TempFolder folder;
    const OnnxImport read =
        import_of("g (float[N,4] x) => (float[N,4] y, float[" + shape +
                      "] c) {\n"
                      "  y = Relu (x)\n"
                      "  c = Constant <value = float[" +
                      shape + "] {1, -2, 4, 0.5, 3, -1}> ()\n}",
                  folder);
    Tensor x({3, 4});
    Rng(1).fill_uniform(x, -1, 1);
    expect_round_trip(read, folder, {x});
  }
}

TEST(OnnxBatchAxis, IsNotMadeOfDifferentSizes) {
  const Failure failure = failure_of<UnsupportedError>([&] {
    (void)from_onnx(
        model_of("g (float[N,3] x, float[4,3] z) => (float[N,3] y) {\n"
                 "  y = Mul (x, z)\n}")
            .SerializeAsString());
  });
  EXPECT_EQ(failure, (Failure{"unsupported_model", "input 'z'"}));
  EXPECT_THAT(failure.message, HasSubstr("[4,3]"));
}

TEST(OnnxImport, DropsInputsThatNothingConsumes) {
  const TempFolder folder;
  const WarningCapture warnings;
  const OnnxImport read = import_of(
      "g (float[3] state, float[N,2] x) => (float[N,2] y) {\n"
      "  unused = IsNaN (state)\n"
      "  y = Neg (x)\n"
      "}",
      folder);
  ASSERT_EQ(read.model.inputs().size(), 1u);
  EXPECT_EQ(read.interface.inputs[0].name, "x");
  ASSERT_EQ(warnings.messages.size(), 1u);
  EXPECT_EQ(warnings.messages[0], (Failure{"input_ignored", "input 'state'"}));
}

// Quantized, saved, and compared with the file.
TEST(OnnxBatchAxis, IsKeptByTheInterface) {
  const TempFolder folder;
  const OnnxImport read = import_of(
      "g (float[4] x) => (float[2] y) {\n"
      "  w = Constant <value = float[4,2] {1,-2,3,4,-5,6,7,-8}> ()\n"
      "  y = MatMul (x, w)\n"
      "}",
      folder);
  Tensor x({8, 4});
  Rng(1).fill_uniform(x, -1, 1);
  Model int8 = quant::quantize_model(read.model);
  quant::calibrate(int8, [&](const Model& m) { (void)m.predict(x); });
  save_model(int8, folder / "m.h5", {.interface = read.interface});
  const OnnxInterface interface = onnx_interface(folder / "m.h5");
  EXPECT_EQ(interface, read.interface);
  export_onnx(int8, folder / "int8.onnx", {.interface = interface});
  const ModelComparison same =
      compare_models(TracedModel(int8.clone(), interface),
                     TracedModel::from_onnx(folder / "int8.onnx"), x);
  EXPECT_GT(same.output_sqnr(), 100);
  EXPECT_EQ(failure_of<ValueError>([&] {
              (void)to_onnx(int8, {.interface = interface, .batch = 2});
            }),
            (Failure{"conflicting_options", "ONNX batch size"}));
}

}  // namespace
}  // namespace octet::io
