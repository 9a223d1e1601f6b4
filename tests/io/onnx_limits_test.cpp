// Files of a kilobyte that exceed memory or time limits. Each size is valid;
// only their sum is not.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "onnx_run.h"

namespace octet::io {
namespace {

constexpr FileLimits kLittleMemory{.memory_limit = 64 << 20};
constexpr FileLimits kLittleTime{.time_limit = 0.5};

OnnxReference limited(const std::string& ends, const std::string& nodes,
                      const FileLimits& limits) {
  const onnx::ModelProto model = model_of("g " + ends + " {\n" + nodes + "\n}");
  const std::string bytes = model.SerializeAsString();
  EXPECT_LT(bytes.size(), 8'192u);
  return onnx_reference_from_bytes(bytes, limits);
}

/// A node that produces `name` with these dimensions.
std::string fill(const std::string& name, const std::string& dims) {
  const auto rank = std::count(dims.begin(), dims.end(), ',') + 1;
  return fmt::format(
      "{0}_s = Constant <value = int64[{1}] {{{2}}}> ()\n"
      "{0} = ConstantOfShape ({0}_s)\n",
      name, rank, dims);
}

Failure refused(const OnnxReference& model) {
  return refusal(model, {Tensor::zeros({1})});
}

const std::string kEnds = "(float[1] x) => (float[A] y)";

TEST(OnnxLimits, HoldForAllValuesTogether) {
  // 40 values of 4 MiB, all consumed at the end.
  std::string nodes;
  std::string sum = "y = Sum (x";
  for (int i = 0; i < 40; ++i) {
    nodes += fill(fmt::format("v{}", i), "1048576");
    sum += fmt::format(", v{}", i);
  }
  nodes += sum + ")";
  EXPECT_EQ(refused(limited(kEnds, nodes, kLittleMemory)),
            (Failure{"memory_limit", "node 'v16' (ConstantOfShape)"}));
  EXPECT_EQ(limited(kEnds, nodes, {.memory_limit = 256 << 20})
                .predict(Tensor::zeros({1}))
                .shape(),
            Shape{1 << 20});
}

TEST(OnnxLimits, DoNotCountReleasedValues) {
  // As many values, one after another.
  std::string nodes = fill("v0", "1048576");
  for (int i = 0; i < 40; ++i)
    nodes += fmt::format("v{} = Neg (v{})\n", i + 1, i);
  nodes += "y = Add (x, v40)";
  EXPECT_NO_THROW(
      limited(kEnds, nodes, kLittleMemory).predict(Tensor::zeros({1})));
}

TEST(OnnxLimits, CountSharedElementsOnce) {
  std::string nodes = fill("v0", "8388608");  // 32 MiB
  std::string sum = "y = Add (s0, s5)";
  for (int i = 0; i < 5; ++i) {
    nodes += fmt::format("v{} = Identity (v{})\n", i + 1, i);
  }
  for (int i = 0; i <= 5; ++i) {
    nodes += fmt::format("s{0} = ReduceMax (v{0})\n", i);
  }
  EXPECT_NO_THROW(
      limited(kEnds, nodes + sum, kLittleMemory).predict(Tensor::zeros({1})));
}

TEST(OnnxLimits, HoldForEveryOperatorWithLargeOutputs) {
  const std::string many = "n = Constant <value = int64[1] {33554432}> ()\n";
  for (const std::string& nodes :
       {fill("y", "33554432"), many + "y = Expand (x, n)",
        std::string("p = Constant <value = int64[2] {0, 33554432}> ()\n"
                    "y = Pad (x, p)"),
        std::string("a = Constant <value = float {0}> ()\n"
                    "b = Constant <value = float {33554432}> ()\n"
                    "c = Constant <value = float {1}> ()\n"
                    "y = Range (a, b, c)"),
        std::string("r = Constant <value = float[0] {}> ()\n"
                    "n = Constant <value = int64[1] {33554432}> ()\n"
                    "y = Resize <mode = \"nearest\"> (x, r, r, n)"),
        fill("i", "33554432") + "j = Cast <to = 7> (i)\ny = Gather (x, j)"}) {
    EXPECT_EQ(refused(limited(kEnds, nodes, kLittleMemory)).code,
              "memory_limit")
        << nodes;
  }
}

TEST(OnnxLimits, HoldForOutputsThatAreCopies) {
  const std::string ends =
      "(float[1] x) => (float[A] a, float[A] b, float[A] c, float[A] d)";
  const std::string nodes = fill("a", "8388608") +  // 32 MiB
                            "b = Identity (a)\nc = Identity (a)\n"
                            "d = Identity (a)";
  EXPECT_EQ(refused(limited(ends, nodes, kLittleMemory)),
            (Failure{"memory_limit", "ONNX model"}));
}

// Each would run for many seconds, most for hours.
TEST(OnnxLimits, StopASlowOperator) {
  const std::string ends = "(float[1] x) => (float[A,B,C,D] y)";
  const std::string image = fill("i", "1, 1, 4096, 4096");  // 64 MiB
  const std::string kernel = fill("k", "1, 1, 2048, 2048");
  for (const auto& nodes : {
           image + kernel + "y = Conv <kernel_shape = [2048,2048]> (i, k)",
           image + kernel +
               "y = ConvTranspose <kernel_shape = [2048,2048]> (i, k)",
           image + "y = MaxPool <kernel_shape = [2048,2048]> (i)",
           image + "y = AveragePool <kernel_shape = [2048,2048]> (i)",
           image + "y = MatMul (i, i)",
           // Many parts with little work each.
           fill("i", "4096, 128, 8, 8") + fill("k", "128, 128, 8, 8") +
               "y = Conv <kernel_shape = [8,8], pads = [7,7,7,7]> (i, k)",
       }) {
    EXPECT_EQ(refused(limited(ends, nodes, kLittleTime)).code, "time_limit")
        << nodes;
  }
}

TEST(OnnxLimits, StopASlowIntegerOperator) {
  const std::string ends = "(float[1] x) => (int32[A,B,C,D] y)";
  const std::string codes =
      "c = Constant <value = int64[4] {1,1,4096,4096}> ()\n"
      "f = ConstantOfShape (c)\n"
      "i = Cast <to = 3> (f)\n";
  for (const char* last : {"y = MatMulInteger (i, i)",
                           "y = ConvInteger <kernel_shape = [4096,4096], pads "
                           "= [4095,4095,4095,4095]> (i, i)"}) {
    EXPECT_EQ(refused(limited(ends, codes + last, kLittleTime)).code,
              "time_limit");
  }
}

TEST(OnnxLimits, StopALongChain) {
  std::string nodes = fill("v0", "16777216");
  for (int i = 0; i < 200; ++i) {
    nodes += fmt::format("v{} = Exp (v{})\n", i + 1, i);
  }
  EXPECT_EQ(
      refused(limited(kEnds, nodes + "y = Add (x, v200)", kLittleTime)).code,
      "time_limit");
}

TEST(OnnxLimits, StopANodeWithManyInputs) {
  std::string nodes = fill("v", "16777216") + "y = Sum (x";
  for (int i = 0; i < 1'000; ++i) nodes += ", v";
  EXPECT_EQ(refused(limited(kEnds, nodes + ")", kLittleTime)),
            (Failure{"time_limit", "node 'y' (Sum)"}));
}

TEST(OnnxLimits, AreChecked) {
  const auto with = [](const FileLimits& limits) {
    return failure_of<ValueError>(
        [&] { limited(kEnds, "y = Neg (x)", limits); });
  };
  EXPECT_EQ(with({.time_limit = 0}),
            (Failure{"out_of_range", "FileLimits.time_limit"}));
  EXPECT_EQ(with({.time_limit = std::nan("")}),
            (Failure{"out_of_range", "FileLimits.time_limit"}));
  EXPECT_EQ(with({.memory_limit = 0}),
            (Failure{"out_of_range", "FileLimits.memory_limit"}));
  EXPECT_NO_THROW(limited(kEnds, "y = Neg (x)",
                          {.memory_limit = INT64_MAX, .time_limit = INFINITY})
                      .predict(Tensor::zeros({1})));
}

}  // namespace
}  // namespace octet::io
