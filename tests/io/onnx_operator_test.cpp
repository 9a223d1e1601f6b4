// Operators of older opsets, and edge cases; the conformance tests and ONNX
// Runtime cover the rest.
#include <cmath>
#include <cstdint>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "onnx_run.h"

namespace octet::io {
namespace {

using ::testing::ElementsAre;

constexpr float kInf = std::numeric_limits<float>::infinity();

Tensor one(const OnnxReference& model, const std::vector<Tensor>& inputs) {
  return model.predict(inputs).at(0);
}

// Values: numpy.mod and numpy.fmod.
TEST(OnnxOperator, RemaindersOfFloatsHaveEitherSign) {
  const std::string ends = "(float[3] a, float[3] b) => (float[3] y)";
  const std::vector<Tensor> inputs{numbers({-5.5f, 5.5f, 3}),
                                   numbers({2, -2, 4})};
  EXPECT_EQ(values_of(to_run(ends, "y = Mod (a, b)").predict(inputs)[0]),
            (std::vector<float>{0.5f, -0.5f, 3}));
  EXPECT_EQ(
      values_of(to_run(ends, "y = Mod <fmod = 1> (a, b)").predict(inputs)[0]),
      (std::vector<float>{-1.5f, 1.5f, 3}));
}

TEST(OnnxOperator, SoftmaxBeforeOpset13IsOverAllAxesFromOneOn) {
  const std::string ends = "(float[1,2,2] x) => (float[1,2,2] y)";
  const Tensor x = Tensor::zeros({1, 2, 2});
  EXPECT_THAT(values_of(to_run(ends, "y = Softmax (x)", 11).predict(x)),
              ElementsAre(0.25f, 0.25f, 0.25f, 0.25f));
  EXPECT_THAT(values_of(to_run(ends, "y = Softmax (x)").predict(x)),
              ElementsAre(0.5f, 0.5f, 0.5f, 0.5f));
}

TEST(OnnxOperator, HardmaxMarksTheFirstLargestElement) {
  const std::string ends = "(float[2,2,2] x) => (float[2,2,2] y)";
  const Tensor x = numbers({2, 2, 2}, {1, 3, 3, 2, 0, 0, 0, 0});
  EXPECT_THAT(values_of(to_run(ends, "y = Hardmax (x)").predict(x)),
              ElementsAre(0, 1, 1, 0, 1, 0, 1, 0));
  EXPECT_THAT(values_of(to_run(ends, "y = Hardmax <axis = 1> (x)").predict(x)),
              ElementsAre(0, 1, 1, 0, 1, 1, 0, 0));
  EXPECT_THAT(values_of(to_run(ends, "y = Hardmax (x)", 11).predict(x)),
              ElementsAre(0, 1, 0, 0, 1, 0, 0, 0));
}

TEST(OnnxOperator, LpNormalizationKeepsZeros) {
  const OnnxReference model =
      to_run("(float[2,2] x) => (float[2,2] y)", "y = LpNormalization (x)");
  EXPECT_THAT(values_of(model.predict(numbers({2, 2}, {3, 4, 0, 0}))),
              ElementsAre(0.6f, 0.8f, 0, 0));
}

TEST(OnnxOperator, AddBeforeOpset7AlignsAtAnAxis) {
  const OnnxReference model =
      to_run("(float[1,2,3] x, float[2] b) => (float[1,2,3] y)",
             "y = Add <broadcast = 1, axis = 1> (x, b)", 6);
  EXPECT_THAT(
      values_of(one(model, {Tensor::zeros({1, 2, 3}), numbers({1, 2})})),
      ElementsAre(1, 1, 1, 2, 2, 2));
}

TEST(OnnxOperator, MatMulAcceptsVectors) {
  EXPECT_THAT(
      values_of(one(to_run("(float[2] x, float[2,3] w) => (float[3] y)",
                           "y = MatMul (x, w)"),
                    {numbers({1, 2}), numbers({2, 3}, {1, 2, 3, 4, 5, 6})})),
      ElementsAre(9, 12, 15));
  const Tensor dot =
      one(to_run("(float[2] x, float[2] w) => (float y)", "y = MatMul (x, w)"),
          {numbers({1, 2}), numbers({3, 4})});
  EXPECT_EQ(dot.shape(), Shape());
  EXPECT_EQ(dot.item(), 11);
}

TEST(OnnxOperator, QuantizeLinearRoundsHalvesToEvenAndSaturates) {
  const OnnxReference model =
      to_run("(float[N] x, float s, int8 z) => (int8[N] y)",
             "y = QuantizeLinear (x, s, z)");
  const Tensor y = one(
      model,
      {numbers({0.5f, 1.5f, 2.5f, -0.5f, -1.5f, 200, -200, kInf, -kInf, NAN}),
       Tensor::scalar(1), Tensor::of<int8_t>(Shape{}, {0})});
  EXPECT_THAT(y.data<int8_t>(),
              ElementsAre(0, 2, 2, 0, -2, 127, -128, 127, -128, -128));
}

TEST(OnnxOperator, QuantizeLinearIsUnsignedWithoutAZeroPoint) {
  const OnnxReference model = to_run("(float[N] x, float s) => (uint8[N] y)",
                                     "y = QuantizeLinear (x, s)");
  EXPECT_THAT(elements<uint8_t>(one(
                  model, {numbers({-1, 0.6f, 300, NAN}), Tensor::scalar(1)})),
              ElementsAre(0, 1, 255, 0));
}

TEST(OnnxOperator, IntegersWrapAndSaturateWithoutTraps) {
  const auto of = [](int32_t a, int32_t b) {
    return std::vector{Tensor::of<int32_t>({1}, {a}),
                       Tensor::of<int32_t>({1}, {b})};
  };
  const auto result = [&](const char* op, int32_t a, int32_t b) {
    return elements<int32_t>(
        one(to_run("(int32[1] a, int32[1] b) => (int32[1] y)",
                   std::string("y = ") + op + " (a, b)"),
            of(a, b)))[0];
  };
  EXPECT_EQ(result("Add", INT32_MAX, 1), INT32_MIN);
  EXPECT_EQ(result("Mul", 1 << 20, 1 << 12), 0);
  EXPECT_EQ(result("Div", INT32_MIN, -1), INT32_MIN);
  EXPECT_EQ(result("Div", -7, 2), -3);
  EXPECT_EQ(result("Pow", 10, 20), INT32_MAX);
  EXPECT_EQ(refusal(to_run("(int32[1] a, int32[1] b) => (int32[1] y)",
                           "y = Div (a, b)"),
                    of(1, 0)),
            (Failure{"invalid_graph", "node 'y' (Div)"}));
}

TEST(OnnxOperator, CastSaturates) {
  const OnnxReference model =
      to_run("(float[N] x) => (int8[N] y)", "y = Cast <to = 3> (x)");
  EXPECT_THAT(
      elements<int8_t>(model.predict(numbers({-1.9f, 1e30f, -kInf, 127.5f}))),
      ElementsAre(-1, 127, -128, 127));
}

TEST(OnnxOperator, MaxAndReluPropagateNaN) {
  EXPECT_THAT(values_of(one(to_run("(float[2] a, float[2] b) => (float[2] y)",
                                   "m = Max (a, b)\ny = Relu (m)"),
                            {numbers({NAN, 1}), numbers({1, NAN})})),
              ElementsAre(::testing::IsNan(), ::testing::IsNan()));
}

TEST(OnnxOperator, SliceAcceptsTheLargestIntegersAsEnds) {
  const OnnxReference model = to_run(
      "(float[4] x, int64[1] s, int64[1] e, int64[1] a, int64[1] p) => "
      "(float[M] y)",
      "y = Slice (x, s, e, a, p)");
  const auto slice = [&](int64_t start, int64_t end, int64_t step) {
    return values_of(
        one(model, {numbers({0, 1, 2, 3}), integers({start}), integers({end}),
                    integers({0}), integers({step})}));
  };
  EXPECT_THAT(slice(INT64_MIN, INT64_MAX, 1), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(slice(INT64_MAX, INT64_MIN, -1), ElementsAre(3, 2, 1, 0));
  EXPECT_THAT(slice(0, 4, INT64_MAX), ElementsAre(0));
  EXPECT_THAT(slice(3, INT64_MIN, INT64_MIN), ElementsAre(3));
  EXPECT_THAT(slice(2, 1, 1), ElementsAre());
}

TEST(OnnxOperator, MaxPoolReturnsIndices) {
  const OnnxReference model =
      to_run("(float[1,1,2,4] x) => (float[1,1,1,2] y, int64[1,1,1,2] i)",
             "y, i = MaxPool <kernel_shape = [2,2], strides = [2,2]> (x)");
  const auto y = model.predict(
      std::vector{numbers({1, 1, 2, 4}, {1, 2, 8, 3, 4, 3, 6, 7})});
  EXPECT_THAT(values_of(y[0]), ElementsAre(4, 8));
  EXPECT_THAT(y[1].data<int64_t>(), ElementsAre(4, 2));
}

TEST(OnnxOperator, PoolingSkipsWindowsThatStartBeyondTheImage) {
  // Two windows of 1 would start at 0 and 3, beyond the two cells.
  const OnnxReference model =
      to_run("(float[1,1,1,3] x) => (float[A,B,C,D] y)",
             "y = AveragePool <kernel_shape = [1,2], strides = [1,3], pads = "
             "[0,0,0,1], ceil_mode = 1> (x)");
  const Tensor y = model.predict(numbers({1, 1, 1, 3}, {1, 3, 5}));
  EXPECT_EQ(y.shape(), (Shape{1, 1, 1, 1}));
  EXPECT_EQ(y.item(), 2);
}

TEST(OnnxOperator, RangeCountsUpAndDown) {
  const OnnxReference model = to_run(
      "(int64 a, int64 b, int64 c) => (int64[N] y)", "y = Range (a, b, c)");
  const auto range = [&](int64_t a, int64_t b, int64_t c) {
    const auto of = [](int64_t x) { return Tensor::of<int64_t>(Shape{}, {x}); };
    const Tensor y = one(model, {of(a), of(b), of(c)});
    return std::vector<int64_t>(y.data<int64_t>().begin(),
                                y.data<int64_t>().end());
  };
  EXPECT_THAT(range(0, 5, 2), ElementsAre(0, 2, 4));
  EXPECT_THAT(range(3, 0, -1), ElementsAre(3, 2, 1));
  EXPECT_THAT(range(0, -5, 1), ElementsAre());
}

TEST(OnnxOperator, TrainingIsRejected) {
  EXPECT_EQ(failure_of<UnsupportedError>([] {
              to_run("(float[2] x, float r, bool t) => (float[2] y)",
                     "y = Dropout (x, r, t)")
                  .predict(std::vector{numbers({1, 2}), Tensor::scalar(0.5f),
                                       Tensor::of<bool>(Shape{}, {true})});
            }),
            (Failure{"unsupported_operator", "node 'y' (Dropout)"}));
}

TEST(OnnxOperator, ImagesOfFourAxesAreRejected) {
  EXPECT_EQ(failure_of<UnsupportedError>([] {
              (void)to_run("(float[1,1,2,2,2,2] x) => (float[A,B,C,D,E,F] y)",
                           "y = MaxPool <kernel_shape = [1,1,1,1]> (x)")
                  .predict(Tensor::zeros({1, 1, 2, 2, 2, 2}));
            }),
            (Failure{"unsupported_operator", "node 'y' (MaxPool)"}));
}

TEST(OnnxOperator, BitwiseOperatorsAcceptSignedValues) {
  const std::string ends = "(int32[3] a, int32[3] b) => (int32[3] y)";
  const auto integers_of = [](std::vector<int32_t> values) {
    return Tensor::of<int32_t>({3}, values);
  };
  const std::vector<Tensor> inputs{integers_of({5, -1, 12}),
                                   integers_of({3, 6, -8})};
  const auto run = [&](const char* op) {
    const Tensor y =
        one(to_run(ends, std::string("y = ") + op + " (a, b)", 18), inputs);
    return std::vector<int32_t>(y.data<int32_t>().begin(),
                                y.data<int32_t>().end());
  };
  EXPECT_THAT(run("BitwiseAnd"), ElementsAre(1, 6, 8));
  EXPECT_THAT(run("BitwiseOr"), ElementsAre(7, -1, -4));
  EXPECT_THAT(run("BitwiseXor"), ElementsAre(6, -7, -12));
}

// PyTorch: a position outside counts as 0, as the border, or is reflected.
TEST(OnnxOperator, GridSampleTreatsPositionsOutside) {
  const std::string ends =
      "(float[1,1,1,2] x, float[1,1,4,2] g) => (float[1,1,1,4] y)";
  const std::vector<Tensor> inputs{
      numbers({1, 1, 1, 2}, {10, 20}),
      numbers({1, 1, 4, 2}, {0, 0, -1, 0, 2, 0, NAN, 0})};
  const auto run = [&](const std::string& outside) {
    return values_of(
        one(to_run(ends,
                   "y = GridSample <padding_mode = \"" + outside + "\"> (x, g)",
                   16),
            inputs));
  };
  using ::testing::IsNan;
  EXPECT_THAT(run("zeros"), ElementsAre(15, 5, 0, IsNan()));
  EXPECT_THAT(run("border"), ElementsAre(15, 10, 20, IsNan()));
  EXPECT_THAT(run("reflection"), ElementsAre(15, 10, 15, IsNan()));
}

TEST(OnnxOperator, VolumesNeedExplicitPadding) {
  const OnnxReference model =
      to_run("(float[1,1,3,3,3] x, float[1,1,2,2,2] w) => (float[] y)",
             "y = Conv <auto_pad = \"SAME_UPPER\"> (x, w)");
  EXPECT_EQ(failure_of<UnsupportedError>([&] {
              (void)model.predict(std::vector{Tensor::zeros({1, 1, 3, 3, 3}),
                                              Tensor::zeros({1, 1, 2, 2, 2})});
            }).code,
            "unsupported_operator");
}

}  // namespace
}  // namespace octet::io
