// Floating-point formats against the enumeration of their values, and fake
// quantization with them and with block scales.
#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>
#include <octet/runtime/rng.h>

#include "../support.h"

namespace octet {
namespace {

constexpr NumberFormat kFormats[] = {NumberFormat::fp8_e4m3,
                                     NumberFormat::fp4_e2m1};

// Nonnegative values by their bits. Source: arXiv 2209.05433, table 1; OCP
// Microscaling Formats 1.0, table 5.
std::vector<double> values_of(NumberFormat format) {
  if (format == NumberFormat::fp4_e2m1) return {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  std::vector<double> values;
  for (int bits = 0; bits < 0x7f; ++bits) {
    const int exponent = bits >> 3, mantissa = bits & 7;
    values.push_back(exponent == 0
                         ? std::ldexp(mantissa / 8.0, -6)
                         : std::ldexp(1 + mantissa / 8.0, exponent - 7));
  }
  return values;
}

QuantParams qparams_of(NumberFormat format, const Tensor& scale,
                       int axis = -1) {
  const int high = largest_value(format);
  return {.scale = scale,
          .axis = axis,
          .low = -high,
          .high = high,
          .format = format};
}

TEST(NumberFormat, EncodesEachValueAsItsBits) {
  for (const NumberFormat format : kFormats) {
    const std::vector<double> values = values_of(format);
    const int sign = format == NumberFormat::fp8_e4m3 ? 0x80 : 8;
    for (size_t bits = 0; bits < values.size(); ++bits) {
      const auto v = static_cast<float>(values[bits]);
      EXPECT_EQ(round_to_format(v, format), v);
      EXPECT_EQ(encode_float(v, format), bits);
      EXPECT_EQ(encode_float(-v, format), bits | static_cast<size_t>(sign));
      EXPECT_EQ(decode_float(static_cast<uint8_t>(bits), format), v);
      EXPECT_EQ(decode_float(static_cast<uint8_t>(bits | sign), format), -v);
    }
  }
}

TEST(NumberFormat, RoundsToTheNearestValueAndTiesToEvenBits) {
  for (const NumberFormat format : kFormats) {
    const std::vector<double> values = values_of(format);
    for (size_t bits = 0; bits + 1 < values.size(); ++bits) {
      const auto low = static_cast<float>(values[bits]);
      const auto high = static_cast<float>(values[bits + 1]);
      const float middle = (low + high) / 2;
      const float even = bits % 2 == 0 ? low : high;
      EXPECT_EQ(round_to_format(middle, format), even);
      EXPECT_EQ(round_to_format(-middle, format), -even);
      EXPECT_EQ(round_to_format(std::nextafter(middle, 0.0f), format), low);
      EXPECT_EQ(round_to_format(std::nextafter(middle, high), format), high);
    }
  }
}

TEST(NumberFormat, SaturatesAndKeepsNan) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const NumberFormat format : kFormats) {
    const auto largest = static_cast<float>(largest_value(format));
    for (const float x : {largest * 1.01f, largest * 2, 3e38f, kInfinity}) {
      EXPECT_EQ(round_to_format(x, format), largest);
      EXPECT_EQ(round_to_format(-x, format), -largest);
    }
    EXPECT_TRUE(std::isnan(round_to_format(NAN, format)));
    EXPECT_EQ(round_to_format(1e-40f, format), 0);
  }
  EXPECT_EQ(encode_float(NAN, NumberFormat::fp8_e4m3), 0x7f);
  EXPECT_TRUE(std::isnan(decode_float(0xff, NumberFormat::fp8_e4m3)));
  EXPECT_THROW((void)encode_float(NAN, NumberFormat::fp4_e2m1), ValueError);
  EXPECT_THROW((void)round_to_format(1, NumberFormat::integer), ValueError);
}

TEST(NumberFormat, HasNames) {
  for (const NumberFormat format : kFormats) {
    EXPECT_EQ(number_format_named(to_string(format)), format);
  }
  EXPECT_THROW((void)number_format_named("fp8"), ValueError);
}

TEST(FakeQuantizeFormat, RoundsQuotientsAndPassesGradientsInTheRange) {
  Rng rng(1);
  Tensor t({3, 5, 7, 17});
  rng.fill_normal(t, 0, 60);
  for (const NumberFormat format : kFormats) {
    const float scale = 0.37f;
    const auto largest = static_cast<float>(largest_value(format));
    const Variable x(t.clone(), true);
    const Variable y =
        fake_quantize(x, qparams_of(format, Tensor::scalar(scale)));
    sum(y).backward();
    // Half a step beyond the largest value: the tie is even for E4M3 only.
    const float end = format == NumberFormat::fp8_e4m3 ? 464 : 7;
    for (size_t i = 0; i < t.f32().size(); ++i) {
      const float v = t.f32()[i] / scale;
      EXPECT_EQ(y.value().f32()[i], round_to_format(v, format) * scale);
      const bool inside = std::fabs(v) < end;
      EXPECT_EQ(x.grad().f32()[i], inside ? 1 : 0) << v << " of " << largest;
    }
  }
}

TEST(FakeQuantizeFormat, QuantizesEachChannelWithItsScale) {
  Rng rng(2);
  Tensor t({3, 2, 4, 5});
  rng.fill_normal(t, 0, 2);
  for (const int axis : {-1, 2, 0}) {
    Tensor scales = absmax_per_channel(t, axis).clone();
    for (float& s : scales.f32()) s = scale_of_range(s, 448);
    const QuantParams qparams =
        qparams_of(NumberFormat::fp8_e4m3, scales, axis);
    const Variable y = fake_quantize(Variable(t), qparams);
    const ElementScales at(t.shape(), qparams);
    for (size_t i = 0; i < t.f32().size(); ++i) {
      EXPECT_EQ(
          y.value().f32()[i],
          round_to_format(t.f32()[i] / at[i], NumberFormat::fp8_e4m3) * at[i]);
    }
  }
}

TEST(FakeQuantizeFormat, ScalesBlocksAlongAnAxis) {
  Rng rng(3);
  Tensor t({2, 7, 3});
  rng.fill_normal(t, 0, 2);
  for (const int axis : {0, 1, -1}) {
    const int64_t block = 2;
    Tensor scales = absmax_per_block(t, axis, block);
    const int place = axis < 0 ? axis + 3 : axis;
    EXPECT_EQ(scales.shape()[place], (t.shape()[place] + 1) / 2);
    for (float& s : scales.f32()) s = scale_of_range(s, 7);
    const QuantParams qparams{
        .scale = scales, .axis = axis, .low = -7, .high = 7, .block = block};
    const Variable y = fake_quantize(Variable(t), qparams);
    size_t i = 0;
    for (int64_t a = 0; a < 2; ++a) {
      for (int64_t b = 0; b < 7; ++b) {
        for (int64_t c = 0; c < 3; ++c, ++i) {
          std::vector<int64_t> at = {a, b, c};
          at[static_cast<size_t>(place)] /= block;
          const Shape& s = scales.shape();
          const auto flat =
              static_cast<size_t>((at[0] * s[1] + at[1]) * s[2] + at[2]);
          const float scale = scales.f32()[flat];
          EXPECT_EQ(y.value().f32()[i],
                    quantize(t.f32()[i], scale, -7, 7) * scale);
        }
      }
    }
  }
}

TEST(FakeQuantizeFormat, HasTheGradientOfTheScale) {
  for (const bool log2 : {false, true}) {
    const float scale = 0.25f;
    const std::vector<float> values = {0.3f, -17, 1e-4f, 120, -0.055f};
    const Variable s(Tensor::scalar(log2 ? std::log2(scale) : scale), true);
    const Variable x(Tensor::of<float>({5}, std::span<const float>(values)));
    QuantParams qparams = qparams_of(NumberFormat::fp8_e4m3, Tensor());
    sum(fake_quantize(x, {.scale = s, .gradient_factor = 0.5f, .log2 = log2},
                      qparams))
        .backward();
    double expected = 0;
    for (const float v : values) {
      const float steps = v / scale;
      const float q = round_to_format(steps, NumberFormat::fp8_e4m3);
      expected += std::fabs(steps) < 448 ? q - steps : q;
    }
    expected *= 0.5 * (log2 ? scale * std::log(2.0) : 1);
    EXPECT_NEAR(s.grad().item(), expected, 1e-5 * std::fabs(expected));
  }
}

TEST(FakeQuantizeFormat, RejectsParametersThatDoNotFit) {
  const Variable x(Tensor::zeros({4, 6}));
  QuantParams range = qparams_of(NumberFormat::fp8_e4m3, Tensor::scalar(1));
  range.high = 127;
  EXPECT_THROW((void)fake_quantize(x, range), ValueError);
  const QuantParams blocks{
      .scale = Tensor::zeros({2, 6}), .axis = 1, .block = 3};
  EXPECT_THROW((void)fake_quantize(x, blocks), Error);
  const QuantParams fp8 = qparams_of(NumberFormat::fp8_e4m3, Tensor::scalar(1));
  EXPECT_THROW((void)quantize(x.value(), fp8), UnsupportedError);
  EXPECT_THROW((void)absmax_per_block(x.value(), 1, 0), ValueError);
}

}  // namespace
}  // namespace octet
