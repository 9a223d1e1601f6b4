#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include <octet/runtime/error.h>
#include <octet/runtime/quantization.h>
#include <octet/runtime/rng.h>

#include "../support.h"

namespace octet {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

// Ties and saturation as ONNX QuantizeLinear defines them.
TEST(Quantize, RoundsTiesToEvenAndSaturates) {
  EXPECT_EQ(quantize(0.5f, 1, -128, 127), 0);
  EXPECT_EQ(quantize(1.5f, 1, -128, 127), 2);
  EXPECT_EQ(quantize(2.5f, 1, -128, 127), 2);
  EXPECT_EQ(quantize(-0.5f, 1, -128, 127), 0);
  EXPECT_EQ(quantize(-2.5f, 1, -128, 127), -2);
  EXPECT_EQ(quantize(127.4f, 1, -128, 127), 127);
  EXPECT_EQ(quantize(127.5f, 1, -128, 127), 127);
  EXPECT_EQ(quantize(1e30f, 1, -128, 127), 127);
  EXPECT_EQ(quantize(-128.5f, 1, -128, 127), -128);
  EXPECT_EQ(quantize(-1e30f, 1, -127, 127), -127);
  EXPECT_EQ(quantize(kInfinity, 1, -128, 127), 127);
  EXPECT_EQ(quantize(-kInfinity, 1, -128, 127), -128);
  EXPECT_TRUE(std::isnan(quantize(kNaN, 1, -128, 127)));
}

TEST(Quantize, DividesAndDoesNotMultiplyByTheInverse) {
  // A value for which the two differ in the last bit, and so in q.
  int differing = 0;
  Rng rng(1);
  for (int i = 0; i < 200000; ++i) {
    const float scale = 0.01f + rng.uniform();
    const float x = scale * (static_cast<float>(rng.below(200)) - 99.5f);
    const float divided = std::nearbyint(x / scale);
    EXPECT_EQ(quantize(x, scale, -128, 127), divided);
    differing += divided != std::nearbyint(x * (1 / scale));
  }
  EXPECT_GT(differing, 0) << "the test has no case that tells the two apart";
}

TEST(ScaleOfRange, IsTheRangeOverTheLargestCode) {
  EXPECT_EQ(scale_of_range(127, 127), 1.0f);
  EXPECT_EQ(scale_of_range(7, 7), 1.0f);
  EXPECT_EQ(scale_of_range(0x1p-100f, 127), 0x1p-100f / 127);
}

TEST(ScaleOfRange, IsOneForAnEmptyRange) {
  EXPECT_EQ(scale_of_range(0, 127), 1.0f);
  EXPECT_EQ(scale_of_range(0x1p-101f, 127), 1.0f);
}

TEST(ScaleOfRange, RejectsInvalidRanges) {
  EXPECT_EQ(failure_of<ValueError>([&] { (void)scale_of_range(-1, 127); }),
            (Failure{"out_of_range", "range"}));
  EXPECT_EQ(failure_of<ValueError>([&] { (void)scale_of_range(kNaN, 127); }),
            (Failure{"not_finite", "range"}));
  EXPECT_EQ(
      failure_of<ValueError>([&] { (void)scale_of_range(kInfinity, 127); }),
      (Failure{"not_finite", "range"}));
}

TEST(Absmax, CoversTheTensorOrEachChannel) {
  const Tensor x = Tensor::of<float>({2, 3}, {1, -5, 0, -2, 4, 0});
  EXPECT_EQ(absmax(x), 5);
  const Tensor last = absmax_per_channel(x, -1);
  EXPECT_EQ(last.f32()[0], 2);
  EXPECT_EQ(last.f32()[1], 5);
  EXPECT_EQ(last.f32()[2], 0);
  const Tensor first = absmax_per_channel(x, 0);
  ASSERT_EQ(first.shape(), Shape{2});
  EXPECT_EQ(first.f32()[0], 5);
  EXPECT_EQ(first.f32()[1], 4);
}

TEST(Absmax, PropagatesNan) {
  EXPECT_TRUE(std::isnan(absmax(Tensor::of<float>({3}, {1, kNaN, 2}))));
  EXPECT_TRUE(std::isnan(absmax(Tensor::of<float>({3}, {kNaN, 1, 2}))));
}

TEST(QuantizeTensor, UsesTheScaleOfEachChannel) {
  const Tensor x = Tensor::of<float>({2, 3}, {1, 2, 3, 4, 5, 6});
  const QuantParams rows{.scale = Tensor::of<float>({2}, {1, 2}), .axis = 0};
  const Tensor codes = quantize(x, rows);
  EXPECT_EQ(codes.data<int8_t>()[2], 3);
  EXPECT_EQ(codes.data<int8_t>()[3], 2);
  EXPECT_EQ(codes.data<int8_t>()[4], 2);  // 2.5, to even
  const Tensor back = dequantize(codes, rows);
  EXPECT_EQ(back.f32()[5], 6);
}

TEST(QuantizeTensor, RejectsMismatchedScales) {
  const Tensor x({2, 3});
  EXPECT_EQ(failure_of<ShapeError>([&] {
              (void)quantize(x, QuantParams{.scale = Tensor::full({2}, 1)});
            }),
            (Failure{"count_mismatch", "quantization parameters"}));
  EXPECT_EQ(failure_of<ValueError>([&] { (void)quantize(x, QuantParams{}); }),
            (Failure{"missing_value", "quantization parameters"}));
  EXPECT_EQ(failure_of<ValueError>([&] {
              (void)quantize(Tensor::full({1}, kNaN),
                             QuantParams{.scale = Tensor::scalar(1)});
            }),
            (Failure{"not_finite", "quantize"}));
  EXPECT_EQ(failure_of<ValueError>([&] {
              (void)quantize(x, {.scale = Tensor::scalar(1), .high = 255});
            }),
            (Failure{"out_of_range", "quantize"}));
}

// By definition gradients pass if round(x / s), before clipping, is in range.
// Values around both bounds, for scales of many magnitudes.
TEST(StraightThroughInterval, ContainsExactlyTheUnclippedValues) {
  Rng rng(2);
  for (int i = 0; i < 2000; ++i) {
    const float scale =
        std::ldexp(0.5f + rng.uniform(), static_cast<int>(rng.below(40)) - 20);
    const OpenInterval pass = straight_through_interval(scale, -128, 127);
    for (const float bound : {pass.low, pass.high}) {
      float x = bound;
      for (int k = 0; k < 4; ++k) x = std::nextafter(x, -kInfinity);
      for (int k = 0; k < 9; ++k, x = std::nextafter(x, kInfinity)) {
        const float code = std::nearbyint(x / scale);
        EXPECT_EQ(x > pass.low && x < pass.high, code >= -128 && code <= 127)
            << x << " / " << scale;
      }
    }
  }
}

TEST(StraightThroughInterval, ContainsTheLargestCalibratedValue) {
  Rng rng(3);
  for (int i = 0; i < 1000; ++i) {
    const float top = 10 * rng.uniform() + 1e-3f;
    const float scale = scale_of_range(top, 127);
    EXPECT_LT(top, straight_through_interval(scale, -128, 127).high);
  }
}

}  // namespace
}  // namespace octet
