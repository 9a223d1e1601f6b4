// Operators whose meaning depends on the opset, and forms of real writers.
// Expected values follow from the specifications;
// tests/oracle/count_conformance.py has ONNX' own.
#include <cmath>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <octet/io/onnx.h>
#include <octet/io/onnx_reference.h>
#include <octet/runtime/error.h>

#include "../facts.h"
#include "onnx_run.h"
#include "support.h"

namespace octet::io {
namespace {

using ::testing::ElementsAre;

const Tensor& six() {
  static const Tensor x = numbers(Shape{2, 3}, {1, 2, 3, 4, 5, 9});
  return x;
}

std::string shape_text(const OnnxReference& model) {
  return to_string(model.outputs()[0].shape);
}

TEST(OnnxVersions, ReductionsHaveAxesAsAnInputSinceOpset18) {
  const auto now = to_run("(float[2,3] x) => (y)",
                          "a = Constant <value_ints = [1]> ()\n"
                          "y = ReduceMean <keepdims = 0> (x, a)",
                          18);
  EXPECT_THAT(values_of(now.predict(six())), ElementsAre(2, 6));
  EXPECT_EQ(shape_text(now), "[2]");
  const auto before =
      to_run("(float[2,3] x) => (y)",
             "y = ReduceMean <keepdims = 0, axes = [1]> (x)", 17);
  EXPECT_THAT(values_of(before.predict(six())), ElementsAre(2, 6));
  // The old attribute would be interpreted as all axes.
  EXPECT_EQ(failure_of<FormatError>([] {
              to_run("(float[2,3] x) => (y)", "y = ReduceMean <axes = [1]> (x)",
                     18);
            }),
            (Failure{"invalid_graph", "ONNX checker"}));
}

TEST(OnnxVersions, ReductionsWithoutAxesKeepAllOnRequest) {
  const auto sum =
      to_run("(float[2,3] x) => (y)",
             "y = ReduceSumSquare <noop_with_empty_axes = 1> (x)", 18);
  EXPECT_THAT(values_of(sum.predict(six())), ElementsAre(1, 4, 9, 16, 25, 81));
  EXPECT_EQ(shape_text(sum), "[2,3]");
}

TEST(OnnxVersions, SplitAllowsASmallerLastPartSinceOpset18) {
  const auto model = to_run("(float[2,3] x) => (a, b)",
                            "a, b = Split <axis = 1, num_outputs = 2> (x)", 18);
  const std::vector<Tensor> parts = model.predict(std::vector{six()});
  EXPECT_EQ(parts[0].shape(), (Shape{2, 2}));
  EXPECT_THAT(values_of(parts[1]), ElementsAre(3, 9));
  EXPECT_EQ(to_string(model.outputs()[1].shape), "[2,1]");
}

TEST(OnnxVersions, PadHasAxesSinceOpset18AndWrapsSince19) {
  const auto padded = to_run("(float[2,3] x) => (y)",
                             "p = Constant <value_ints = [1,0]> ()\n"
                             "v = Constant <value_float = 7.0> ()\n"
                             "a = Constant <value_ints = [-1]> ()\n"
                             "y = Pad (x, p, v, a)",
                             18);
  EXPECT_THAT(values_of(padded.predict(six())),
              ElementsAre(7, 1, 2, 3, 7, 4, 5, 9));
  EXPECT_EQ(shape_text(padded), "[2,4]");
  const auto wrapped = to_run("(float[3] x) => (y)",
                              "p = Constant <value_ints = [4,2]> ()\n"
                              "y = Pad <mode = \"wrap\"> (x, p)",
                              19);
  EXPECT_THAT(values_of(wrapped.predict(numbers({1, 2, 3}))),
              ElementsAre(3, 1, 2, 3, 1, 2, 3, 1, 2));
}

TEST(OnnxVersions, BlocksHaveSeparateScalesSinceOpset21) {
  // Two blocks along axis 1, the second one shorter.
  const auto model = to_run(
      "(float[2,3] x, float[2,2] s) => (y)",
      "q = QuantizeLinear <axis = 1, block_size = 2, output_dtype = 3> (x, s)\n"
      "y = DequantizeLinear <axis = 1, block_size = 2> (q, s)",
      21);
  const Tensor scales = numbers(Shape{2, 2}, {1, 2, 4, 0.5f});
  const Tensor x = numbers(Shape{2, 3}, {1.4f, -200, 3, 5, 6, 0.3f});
  EXPECT_THAT(values_of(model.predict(std::vector{x, scales})[0]),
              ElementsAre(1, -128, 4, 4, 8, 0.5f));  // ties to even
  EXPECT_EQ(shape_text(model), "[2,3]");
  EXPECT_EQ(refusal(model, {x, numbers(Shape{2, 2}, {1, 2, 4, 8})}).code,
            "no error");
}

TEST(OnnxVersions, RejectsBlocksThatDoNotFitTheScales) {
  EXPECT_EQ(failure_of<FormatError>([] {
              to_run("(float[2,3] x, float[2,3] s) => (y)",
                     "y = QuantizeLinear <axis = 1, block_size = 2> (x, s)",
                     21);
            }),
            (Failure{"invalid_graph", "node 'y' (QuantizeLinear)"}));
}

TEST(OnnxVersions, GroupNormalizationHasScalesForChannelsSinceOpset21) {
  const std::string node =
      "y = GroupNormalization <num_groups = 1, epsilon = 0.0> (x, s, b)";
  const Tensor x = numbers(Shape{1, 2, 2}, {1, 3, 5, 7});
  const float root = std::sqrt(5.0f);  // of the variance
  const auto channels =
      to_run("(float[1,2,2] x, float[2] s, float[2] b) => (y)", node, 21);
  const auto y = values_of(
      channels.predict(std::vector{x, numbers({1, 2}), numbers({0, 10})})[0]);
  EXPECT_NEAR(y[0], -3 / root, 1e-6);
  EXPECT_NEAR(y[3], 2 * 3 / root + 10, 1e-6);
  const auto groups =
      to_run("(float[1,2,2] x, float[1] s, float[1] b) => (y)", node, 18);
  EXPECT_NEAR(values_of(groups.predict(
                  std::vector{x, numbers({2}), numbers({1})})[0])[3],
              2 * 3 / root + 1, 1e-6);
}

TEST(OnnxVersions, AnOperatorIsUnknownBeforeItsOpset) {
  const auto gelu = [](int64_t opset) {
    return to_run("(float[2] x) => (float[2] y)", "y = Gelu (x)", opset);
  };
  EXPECT_NEAR(values_of(gelu(20).predict(numbers({1, -1})))[0], 0.8413447,
              1e-6);
  EXPECT_EQ(failure_of<UnsupportedError>([&] { gelu(19); }),
            (Failure{"unsupported_operator", "ONNX model"}));
}

TEST(OnnxVersions, Float16IsRoundedAtEachNode) {
  const auto model = to_run("(float16[3] x) => (float16[3] y)",
                            "h = Constant <value = float[1] {0.0004}> ()\n"
                            "c = Cast <to = 10> (h)\n"
                            "y = Add (x, c)");
  EXPECT_EQ(model.inputs()[0].type, "float16");
  // 1 + 0.0004 is not representable in float16, 0.25 + 0.0004 is nearly; 65504
  // is the largest.
  const auto y = values_of(model.predict(numbers({1, 0.25f, 70000})));
  EXPECT_EQ(y[0], 1);
  EXPECT_EQ(y[1], 0.25f + 2 * 0x1p-12f);
  EXPECT_TRUE(std::isinf(y[2]));
}

TEST(OnnxVersions, ShortFloatsOfInitializersAreRead) {
  onnx::ModelProto model = model_of(
      "g (float[2] x) => (float[2] y) {\n"
      "  w = Cast <to = 1> (h)\n"
      "  y = Mul (x, w)\n"
      "}");
  auto* tensor = model.mutable_graph()->add_initializer();
  tensor->set_name("h");
  tensor->set_data_type(onnx::TensorProto::FLOAT16);
  tensor->add_dims(2);
  tensor->set_raw_data(std::string("\x00\x3e\x00\xc0", 4));  // 1.5, -2
  EXPECT_THAT(values_of(to_run(model).predict(numbers({1, 1}))),
              ElementsAre(1.5f, -2));
  tensor->set_data_type(onnx::TensorProto::BFLOAT16);
  tensor->set_raw_data(std::string("\xc0\x3f\x00\xc0", 4));
  EXPECT_THAT(values_of(to_run(model).predict(numbers({1, 1}))),
              ElementsAre(1.5f, -2));
}

TEST(OnnxVersions, PoolingWindowsStartInTheImageOrItsStartPadding) {
  // 4 cells with padding of 1 on each side: a third window of 2 would start in
  // the end padding.
  const auto model =
      to_run("(float[1,1,4] x) => (y)",
             "y = MaxPool <kernel_shape = [2], strides = [3], pads = [1,1], "
             "ceil_mode = 1> (x)");
  EXPECT_EQ(shape_text(model), "[1,1,2]");
  EXPECT_THAT(values_of(model.predict(numbers(Shape{1, 1, 4}, {1, 2, 3, 4}))),
              ElementsAre(1, 4));
}

TEST(OnnxWriters, MayLeaveOutShapesAndTypesOfOutputs) {
  onnx::ModelProto model = conv_model();
  auto* output = model.mutable_graph()->mutable_output(0);
  output->mutable_type()->mutable_tensor_type()->clear_shape();
  EXPECT_EQ(shape_text(to_run(model)), "[N,4,6,6]");
  output->clear_type();
  EXPECT_EQ(shape_text(to_run(model)), "[N,4,6,6]");
  EXPECT_EQ(to_run(model).outputs()[0].type, "float32");
}

TEST(OnnxWriters, MayWriteDynamicDimensionsAsMinusOne) {
  onnx::ModelProto model = conv_model();
  for (auto* value : {model.mutable_graph()->mutable_input(0),
                      model.mutable_graph()->mutable_output(0)}) {
    value->mutable_type()
        ->mutable_tensor_type()
        ->mutable_shape()
        ->mutable_dim(0)
        ->set_dim_value(-1);
  }
  const OnnxReference open = to_run(model);
  EXPECT_EQ(to_string(open.inputs()[0].shape), "[?,3,8,8]");
  EXPECT_EQ(open.predict(Tensor(Shape{5, 3, 8, 8})).shape(),
            (Shape{5, 4, 6, 6}));
}

TEST(OnnxWriters, MayLeaveOutdatedShapes) {
  onnx::ModelProto model = model_of(
      "g (float[2,3] x) => (float[2,3] y) {\n"
      "  a = Abs (x)\n"
      "  y = Neg (a)\n"
      "}");
  auto* value = model.mutable_graph()->add_value_info();
  value->set_name("a");
  auto* type = value->mutable_type()->mutable_tensor_type();
  type->set_elem_type(onnx::TensorProto::FLOAT);
  type->mutable_shape()->add_dim()->set_dim_value(7);
  EXPECT_THAT(values_of(to_run(model).predict(six())),
              ElementsAre(-1, -2, -3, -4, -5, -9));
}

TEST(OnnxWriters, MayWriteOneScaleAsAListAndItsZeroPointAsAScalar) {
  onnx::ModelProto model = quantized_model();
  initializer(model, "xs") = float_tensor("xs", {1}, {0.02f});
  EXPECT_EQ(to_run(model).predict(Tensor(Shape{1, 3, 8, 8})).shape(),
            (Shape{1, 4, 6, 6}));
}

TEST(OnnxWriters, MaySpellTheStandardDomain) {
  onnx::ModelProto model = conv_model();
  model.mutable_opset_import(0)->set_domain("ai.onnx");
  model.mutable_graph()->mutable_node(0)->set_domain("ai.onnx");
  model.mutable_graph()->clear_name();
  EXPECT_EQ(shape_text(to_run(model)), "[N,4,6,6]");
}

TEST(OnnxWriters, GetAllUnsupportedOperatorsAtOnce) {
  const std::string message = failure_of<UnsupportedError>([] {
                                to_run("(float[2] x) => (y)",
                                       "a = Convolute <size = 3> (x)\n"
                                       "b, c = Hardmax2 (a)\n"
                                       "y = Abs (c)",
                                       21);
                              }).message;
  EXPECT_THAT(quoted_names(message), ElementsAre("a", "b"));
}

TEST(OnnxWriters, GetUnsupportedTypesByName) {
  EXPECT_EQ(failure_of<UnsupportedError>([] {
              to_run("(float[2] x) => (y)", "y = Cast <to = 17> (x)", 19);
            }),
            (Failure{"unsupported_type", "node 'y' (Cast)"}));
}

}  // namespace
}  // namespace octet::io
