#include "tensor/number_format.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include <octet/runtime/error.h>

namespace octet {
namespace {

constexpr std::array kNames{
    std::pair{NumberFormat::integer, std::string_view("integer")},
    std::pair{NumberFormat::fp8_e4m3, std::string_view("fp8_e4m3")},
    std::pair{NumberFormat::fp4_e2m1, std::string_view("fp4_e2m1")}};

}  // namespace

std::string_view to_string(NumberFormat format) {
  return kNames[static_cast<size_t>(format)].second;
}

NumberFormat number_format_named(std::string_view name) {
  for (const auto& [format, known] : kNames) {
    if (name == known) return format;
  }
  throw ValueError(
      "invalid_value", "number format",
      fmt::format("must be integer, fp8_e4m3 or fp4_e2m1, got '{}'", name));
}

FloatFormat float_format(NumberFormat format) {
  switch (format) {
    case NumberFormat::fp8_e4m3:
      return {.mantissa_bits = 3,
              .least_exponent = -6,
              .exponent_bits = 4,
              .largest = 448};
    case NumberFormat::fp4_e2m1:
      return {.mantissa_bits = 1,
              .least_exponent = 0,
              .exponent_bits = 2,
              .largest = 6};
    case NumberFormat::integer:
      break;
  }
  throw ValueError("invalid_value", "number format",
                   "must be a floating-point format, got integer");
}

int largest_value(NumberFormat format) {
  return static_cast<int>(float_format(format).largest);
}

float round_to_format(float x, NumberFormat format) {
  const FloatFormat f = float_format(format);
  const float rounded = f.round(x);
  return std::isnan(rounded) ? rounded
                             : std::clamp(rounded, -f.largest, f.largest);
}

uint8_t encode_float(float x, NumberFormat format) {
  const FloatFormat f = float_format(format);
  const int sign_place = f.exponent_bits + f.mantissa_bits;
  const float value = round_to_format(x, format);
  if (std::isnan(value)) {
    if (format == NumberFormat::fp8_e4m3) return 0x7f;
    throw ValueError("not_finite", "encode_float",
                     fmt::format("{} has no NaN", to_string(format)));
  }
  int bits = std::signbit(value) ? 1 << sign_place : 0;
  const float magnitude = std::fabs(value);
  const float unit = std::ldexp(1.0f, f.least_exponent - f.mantissa_bits);
  const int subnormals = 1 << f.mantissa_bits;
  if (magnitude < unit * static_cast<float>(subnormals)) {
    return static_cast<uint8_t>(bits | static_cast<int>(magnitude / unit));
  }
  const int exponent = std::ilogb(magnitude);
  const auto mantissa =
      static_cast<int>(std::ldexp(magnitude, f.mantissa_bits - exponent)) -
      subnormals;
  bits |= (exponent - f.least_exponent + 1) << f.mantissa_bits;
  return static_cast<uint8_t>(bits | mantissa);
}

float decode_float(uint8_t bits, NumberFormat format) {
  const FloatFormat f = float_format(format);
  if (format == NumberFormat::fp8_e4m3 && (bits & 0x7f) == 0x7f) {
    return std::numeric_limits<float>::quiet_NaN();
  }
  const int subnormals = 1 << f.mantissa_bits;
  const int field = bits >> f.mantissa_bits & ((1 << f.exponent_bits) - 1);
  const int mantissa = (bits & (subnormals - 1)) + (field > 0 ? subnormals : 0);
  const int exponent = std::max(field, 1) - 1 + f.least_exponent;
  const float magnitude =
      std::ldexp(static_cast<float>(mantissa), exponent - f.mantissa_bits);
  const bool negative = (bits >> (f.exponent_bits + f.mantissa_bits) & 1) != 0;
  return negative ? -magnitude : magnitude;
}

}  // namespace octet
