// Checks in front of the ONNX libraries, and results of their inference that
// are ignored.
#include <filesystem>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/io/lint.h>
#include <octet/io/onnx.h>
#include <octet/layers/inference_session.h>
#include <octet/layers/layers.h>

#include "../facts.h"
#include "../testdata.h"
#include "onnx_run.h"

namespace octet::io {
namespace {

using ::testing::ElementsAre;

Failure refused_model(const onnx::ModelProto& model) {
  return failure_of<FormatError>(
      [&] { (void)onnx_reference_from_bytes(model.SerializeAsString()); });
}

std::filesystem::path robust(const std::string& name) {
  return testdata("faults/robust/" + name + ".onnx");
}

/// With small files that once caused faults.
class OnnxFaults : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(testdata("faults/robust"))) {
      GTEST_SKIP() << testdata("faults/robust") << ": no such folder";
    }
  }
};

TEST(OnnxGuards, WeightsOfAnyRankAreRejectedWithAKernelShape) {
  for (const char* op : {"Conv", "ConvTranspose"}) {
    for (const std::vector<int64_t>& dims : std::vector<std::vector<int64_t>>{
             {}, {1}, {1, 1}, {1, 1, 3}, {1, 1, 3, 3, 1}}) {
      onnx::ModelProto model = graph_model(
          "(float[N,1,5,5] x) => (float[A,B,C,D] y)",
          "y = " + std::string(op) + " <kernel_shape = [3,3]> (x, w)");
      int64_t count = 1;
      for (const int64_t dim : dims) count *= dim;
      *model.mutable_graph()->add_initializer() = float_tensor(
          "w", dims, std::vector<float>(static_cast<size_t>(count), 1));
      EXPECT_EQ(refused_model(model),
                (Failure{"invalid_graph", "ONNX shape inference"}))
          << op << dims.size();
    }
  }
}

TEST_F(OnnxFaults, AConvTransposeWithAWeightOfRankOneIsRejected) {
  EXPECT_EQ(failure_of<FormatError>([] {
              (void)inspect_onnx(robust("ConvTranspose_w_rank1_ks_13"));
            }),
            (Failure{"invalid_graph", "ONNX shape inference"}));
}

// Shape inference creates a size for each entry of the list.
TEST(OnnxGuards, ListsOfManySizesAreRejected) {
  EXPECT_EQ(refused_model(graph_model("(int64[2000000000] s) => (float y)",
                                      "y = ConstantOfShape (s)")),
            (Failure{"invalid_graph", "ONNX shape inference"}));
  EXPECT_EQ(refused_model(
                graph_model("(float[1] x, int64[2000000000] s) => (float y)",
                            "y = Expand (x, s)")),
            (Failure{"invalid_graph", "ONNX shape inference"}));
}

// Shape inference counts windows one by one.
TEST(OnnxGuards, AutomaticPaddingOfHugeImagesIsRejected) {
  onnx::ModelProto model =
      graph_model("(float[1,1,2147483647] x, float[1,1,3] w) => (float y)",
                  "y = Conv <auto_pad = \"SAME_UPPER\", strides = [2]> (x, w)");
  EXPECT_EQ(refused_model(model),
            (Failure{"invalid_graph", "ONNX shape inference"}));
}

TEST_F(OnnxFaults, ValuesOutsideOfTheirTypeAreRejected) {
  for (const char* name : {"range_zp1000", "range_w300"}) {
    EXPECT_EQ(
        failure_of<FormatError>([&] { (void)load_onnx(robust(name)); }).code,
        "invalid_graph");
    EXPECT_EQ(
        failure_of<FormatError>([&] { (void)lint_onnx(robust(name)); }).code,
        "invalid_graph");
  }
}

TEST_F(OnnxFaults, ADequantizeWithoutScaleIsAFindingOrAnError) {
  const LintReport report = lint_onnx(robust("02714_struct"));
  EXPECT_GT(report.count(LintSeverity::error), 0);
  EXPECT_NE(report.incomplete, "");
  EXPECT_THROW((void)fix_onnx(robust("02714_struct")), FormatError);
  EXPECT_THROW((void)inspect_onnx(robust("02714_struct")), FormatError);
}

TEST_F(OnnxFaults, WrongDeclaredSizesAreIgnored) {
  WarningCapture warnings;
  const OnnxSummary summary = inspect_onnx(robust("ceil_inferred"));
  EXPECT_EQ(to_string(summary.outputs[0].shape), "[N,1,3,3]");
  ASSERT_THAT(warnings.messages,
              ElementsAre(Failure{"shape_ignored", "output 'y'"}));
  EXPECT_THAT(numbers_in(warnings.messages[0].text()),
              ElementsAre(1, 4, 3, 1, 3, 3));
  const Model model = load_onnx(robust("ceil_inferred"));
  EXPECT_EQ(model.outputs()[0].shape().slice(1, 4), (Shape{3, 3, 1}));
  // As are declared ranks of outputs.
  warnings.messages.clear();
  const OnnxReference run =
      to_run(graph_model("(float[N,4] x) => (float[N] y)", "y = Neg (x)"));
  EXPECT_EQ(to_string(run.outputs()[0].shape), "[N,4]");
  EXPECT_THAT(warnings.messages,
              ElementsAre(Failure{"shape_ignored", "output 'y'"}));
  // Declared ranks and types of intermediate values are ignored.
  warnings.messages.clear();
  onnx::ModelProto inner = graph_model("(float[N,4] x) => (float[N,4] y)",
                                       "t = Neg (x)\ny = Abs (t)");
  auto& info = *inner.mutable_graph()->add_value_info();
  info.set_name("t");
  info.mutable_type()->mutable_tensor_type()->set_elem_type(
      onnx::TensorProto::INT64);
  info.mutable_type()->mutable_tensor_type()->mutable_shape();
  EXPECT_NO_THROW((void)to_run(inner));
  EXPECT_TRUE(warnings.messages.empty());
}

TEST(OnnxGuards, OutputsOfAnotherTypeAreRejected) {
  EXPECT_EQ(refused_model(
                graph_model("(float[N,4] x) => (int64[N,4] y)", "y = Neg (x)")),
            (Failure{"invalid_graph", "ONNX shape inference"}));
}

TEST_F(OnnxFaults, LayersAreLoadedWithinTheMemoryLimit) {
  const OnnxImportOptions little{.limits = {.memory_limit = 64 << 20}};
  EXPECT_EQ(failure_of<FormatError>(
                [&] { (void)load_onnx(robust("02957_pool"), little); }),
            (Failure{"memory_limit", "model 'g'"}));
  // Many small values that are alive together.
  std::string nodes;
  std::string sum = "y = Sum (";
  for (int i = 0; i < 100; ++i) {
    nodes += fmt::format("v{0} = LeakyRelu <alpha = 0.{0}> (x)\n", i + 10);
    sum += fmt::format("{}v{}", i > 0 ? ", " : "", i + 10);
  }
  const std::string bytes =
      graph_model("(float[N,262144] x) => (float[N,262144] y)",
                  nodes + sum + ")")
          .SerializeAsString();
  EXPECT_EQ(failure_of<FormatError>([&] { (void)from_onnx(bytes, little); }),
            (Failure{"memory_limit", "model 'g'"}));
  EXPECT_NO_THROW((void)from_onnx(bytes));
}

TEST(OnnxGuards, SessionsRespectTheirLimits) {
  const SymbolicTensor x = input({512, 512, 1}, "x");
  const Model large(x, UpSampling2D({.size = 8, .name = "up"})(x));
  EXPECT_EQ(failure_of<ValueError>([&] {
              const InferenceSession session(large, {.memory_limit = 64 << 20});
            }),
            (Failure{"memory_limit", "model 'model'"}));
  SymbolicTensor y = input({64, 64, 3}, "x");
  const SymbolicTensor first = y;
  for (int i = 0; i < 50; ++i) {
    y = Conv2D({.filters = 16, .kernel_size = 3})(y);
    if (y.shape()[1] < 4) break;
  }
  const Model deep(first, y);
  EXPECT_EQ(failure_of<ValueError>([&] {
              const InferenceSession session(deep, {.time_limit = 1e-6});
            }),
            (Failure{"time_limit", "session"}));
  EXPECT_NO_THROW(InferenceSession(
      deep, {.memory_limit = int64_t{1} << 30, .time_limit = 100}));
  EXPECT_THROW(InferenceSession(deep, {.memory_limit = -1}), ValueError);
  EXPECT_THROW(InferenceSession(deep, {.time_limit = -1}), ValueError);
}

}  // namespace
}  // namespace octet::io
