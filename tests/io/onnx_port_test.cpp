// Inputs and outputs of imported files: types, constants, single values.
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <octet/io/onnx.h>

#include "onnx_models.h"
#include "onnx_round_trip.h"
#include "support.h"

namespace octet::io {
namespace {

void expect_returns(const std::string& graph, const Tensor& x) {
  SCOPED_TRACE(graph);
  const TempFolder folder;
  const OnnxImport read = import_of(graph, folder);
  expect_round_trip(read, folder, {x});
}

Tensor port_samples() {
  Tensor x({3, 4});
  Rng(1).fill_uniform(x, -3, 3);
  return x;
}

TEST(OnnxPorts, KeepFloatTypes) {
  for (const std::string type : {"float16", "double"}) {
    const std::string to = type == "double" ? "11" : "10";
    expect_returns("g (" + type + "[N,4] x) => (" + type +
                       "[N,4] y) {\n"
                       "  f = Cast <to = 1> (x)\n"
                       "  r = Relu (f)\n"
                       "  y = Cast <to = " +
                       to + "> (r)\n}",
                   port_samples());
  }
}

TEST(OnnxPorts, KeepIntegerTypes) {
  expect_returns(
      "g (int32[N,3] x) => (float[N,3] y) {\n"
      "  l = Cast <to = 7> (x)\n"
      "  f = Cast <to = 1> (l)\n"
      "  y = Neg (f)\n"
      "}",
      Tensor::of<int32_t>({2, 3}, {1, -2, 3, 400, 5, 6}));
  // A Cast that rounds is part of the output.
  expect_returns(
      "g (float[N,4] x) => (int64[N,4] y) {\n"
      "  r = Relu (x)\n"
      "  y = Cast <to = 7> (r)\n"
      "}",
      port_samples());
  EXPECT_EQ(failure_of<UnsupportedError>([] {
              (void)from_onnx(model_of("g (float[N,4] x) => (float[N,4] y) {\n"
                                       "  l = Cast <to = 7> (x)\n"
                                       "  y = Cast <to = 1> (l)\n"
                                       "}")
                                  .SerializeAsString());
            }),
            (Failure{"unsupported_operator", "node 'l' (Cast)"}));
}

TEST(OnnxPorts, MayBeConstant) {
  const std::string relu = "  y = Relu (x)\n";
  // For each sample of a fixed batch, and as a whole.
  expect_returns("g (float[1,4] x) => (float[1,4] y, float[1,2] k) {\n" + relu +
                     "  k = Constant <value = float[1,2] {3, 4}> ()\n}",
                 port_samples().slice(0, 1));
  expect_returns("g (float[N,4] x) => (float[N,4] y, int64[3] k) {\n" + relu +
                     "  k = Constant <value = int64[3] {3, 4, 5}> ()\n}",
                 port_samples());
}

TEST(OnnxPorts, MayBeInputsOrEqual) {
  expect_returns(
      "g (float[N,4] x) => (float[N,4] same, float[N,4] a, float[N,4] b) {\n"
      "  same = Identity (x)\n"
      "  a = Relu (x)\n"
      "  b = Identity (a)\n"
      "}",
      port_samples());
}

TEST(OnnxPorts, MayBeSingleValues) {
  const std::string axes = "  one = Constant <value = int64[1] {1}> ()\n";
  expect_returns("g (float[N,4] x) => (float[N] y) {\n" + axes +
                     "  y = ReduceSum <keepdims = 0> (x, one)\n}",
                 port_samples());
  expect_returns("g (float[N] x) => (float[N,1] y) {\n" + axes +
                     "  u = Unsqueeze (x, one)\n"
                     "  y = Relu (u)\n}",
                 Tensor::of<float>({3}, {1, -2, 3}));
}

TEST(OnnxPorts, MayBeIndices) {
  expect_returns(
      "g (float[N,4] x) => (int64[N] y) {\n"
      "  y = ArgMax <axis = 1, keepdims = 0> (x)\n"
      "}",
      port_samples());
  expect_returns(
      "g (float[N,2,3,3] x) => (int64[N,1,3,3] y) {\n"
      "  y = ArgMin <axis = 1> (x)\n"
      "}",
      [] {
        Tensor x({2, 2, 3, 3});
        Rng(2).fill_uniform(x, -1, 1);
        return x;
      }());
}

}  // namespace
}  // namespace octet::io
