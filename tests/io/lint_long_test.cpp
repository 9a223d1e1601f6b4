// Lint, fixes and names of long and wide graphs take linear time.
#include <string>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <octet/io/onnx.h>
#include <octet/layers/layers.h>

#include "lint_models.h"
#include "unique_names.h"

namespace octet::io {
namespace {

constexpr int kLong = 10'000;

TEST(LintLong, ChecksAChainOfCommutingOperators) {
  std::string nodes = "v0 = QuantizeLinear (x, s0, z0)\n";
  for (int i = 0; i < kLong; ++i) {
    nodes += fmt::format("v{} = Identity (v{})\n", i + 1, i);
  }
  nodes += fmt::format("y = DequantizeLinear (v{}, s0, z0)\n", kLong);
  for (int i = 0; i < 100; ++i) {
    nodes += fmt::format("d{} = DequantizeLinear (v{}, s1, z0)\n", i, kLong);
  }
  const std::string bytes =
      lint_model("(float[N,3] x) => (float[N,3] y)", nodes).SerializeAsString();
  const LintReport report = lint_onnx_bytes(bytes);
  EXPECT_EQ(std::ranges::count(report.findings, "P18", &LintFinding::id), 100);
  EXPECT_LT(fix_onnx_bytes(bytes).bytes.size(), bytes.size());
}

TEST(LintLong, RemovesAChainOfPairs) {
  std::string nodes;
  std::string value = "x";
  for (int i = 0; i < kLong / 2; ++i) {
    nodes += fmt::format(
        "q{0} = QuantizeLinear ({1}, s0, z0)\n"
        "d{0} = DequantizeLinear (q{0}, s0, z0)\n",
        i, value);
    value = fmt::format("d{}", i);
  }
  const LintFix fix =
      fix_onnx_bytes(lint_model("(float[N,3] x) => (float[N,3] y)",
                                nodes + "y = Relu (" + value + ")")
                         .SerializeAsString());
  EXPECT_EQ(std::ssize(fix.repairs), kLong / 2 - 1);
  // Each remaining DQ consumes the output of the first Q.
  onnx::ModelProto fixed;
  ASSERT_TRUE(fixed.ParseFromString(fix.bytes));
  EXPECT_EQ(fixed.graph().node_size(), 3);
}

TEST(LintLong, ExportsManyCallsOfOneLayer) {
  const SymbolicTensor x = input({4}, "x");
  SymbolicTensor y = x;
  const Dense layer({.units = 4});
  for (int i = 0; i < kLong; ++i) y = layer(y);
  EXPECT_GT(to_onnx(Model(x, y)).bytes.size(), 0u);
}

TEST(UniqueNames, CountAsIfTheyWereTriedFromOneOn) {
  UniqueNames names;
  EXPECT_EQ(names.add("a"), "a");
  EXPECT_TRUE(names.insert("a_2"));
  EXPECT_EQ(names.add("a"), "a_1");
  EXPECT_EQ(names.add("a"), "a_3");
  EXPECT_EQ(names.add("a_1"), "a_1_1");
  const auto kept = [](const std::string& name) { return name == "a_4"; };
  EXPECT_EQ(names.add("a", kept), "a_5");
  EXPECT_FALSE(names.insert("a"));
}

}  // namespace
}  // namespace octet::io
