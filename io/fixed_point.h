// Fixed-point arithmetic of TensorFlow Lite's integer kernels.
// Source: tensorflow/lite/kernels/internal/common.{h,cc} and
// quantization_util.cc; gemmlowp/fixedpoint/fixedpoint.h.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>

namespace octet::io {

/// Factor multiplier * 2^(shift - 31), with the multiplier in [2^30, 2^31) or
/// 0.
struct FixedFactor {
  int32_t multiplier = 0;
  int shift = 0;
  bool operator==(const FixedFactor&) const = default;
};
/// Returns the nearest factor to m >= 0; 0 below 2^-32.
FixedFactor fixed_factor(double m);
/// Returns the factor divided by count >= 1, truncated.
/// Source: reference/reduce.h, QuantizedMeanOrSum.
FixedFactor divided(FixedFactor f, int64_t count);

/// a * b / 2^31, rounded to nearest, ties away from zero.
inline int32_t high_product(int32_t a, int32_t b) {
  constexpr int32_t kMin = std::numeric_limits<int32_t>::min();
  if (a == kMin && b == kMin) return std::numeric_limits<int32_t>::max();
  const int64_t product = int64_t{a} * int64_t{b};
  const int64_t nudge =
      product >= 0 ? (int64_t{1} << 30) : 1 - (int64_t{1} << 30);
  return static_cast<int32_t>((product + nudge) / (int64_t{1} << 31));
}

/// x / 2^exponent, rounded to nearest, ties away from zero.
inline int32_t rounding_shift(int32_t x, int exponent) {
  if (exponent == 0) return x;
  const auto mask = static_cast<int32_t>((int64_t{1} << exponent) - 1);
  const int32_t remainder = x & mask;
  const int32_t threshold = (mask >> 1) + (x < 0 ? 1 : 0);
  return (x >> exponent) + (remainder > threshold ? 1 : 0);
}

/// x * f, rounded twice. Overflow beyond int32 wraps around, as in the kernels.
inline int32_t scaled(int32_t x, const FixedFactor& f) {
  const auto shifted =
      static_cast<int32_t>(static_cast<uint32_t>(x) << std::max(f.shift, 0));
  return rounding_shift(high_product(shifted, f.multiplier),
                        std::max(-f.shift, 0));
}

/// Largest shift of factors of 64-bit sums.
inline constexpr int kLargestShift64 = 7;
/// x * f for |x| < 2^47, with the upper 16 bits of the multiplier, rounded
/// once: kernels of 16-bit activations.
inline int32_t scaled(int64_t x, const FixedFactor& f) {
  const int64_t reduced =
      f.multiplier < 0x7fff0000 ? (f.multiplier + (1 << 15)) >> 16 : 0x7fff;
  const int shift = 15 - f.shift;
  return static_cast<int32_t>((x * reduced + (int64_t{1} << (shift - 1))) >>
                              shift);
}

/// exp(x), x = raw * 2^(integer_bits - 31) <= 0; the result has 31 fractional
/// bits.
int32_t exp_of_negative(int32_t raw, int integer_bits);
/// 1 / (1 + x), x in [0,1]; both have 31 fractional bits.
int32_t inverse_of_one_plus(int32_t x);
/// 1 / (1 + exp(-x)) and tanh(x); the results have 31 fractional bits.
int32_t fixed_logistic(int32_t raw, int integer_bits);
int32_t fixed_tanh(int32_t raw, int integer_bits);

/// Largest input of a function with `integer_bits` whose multiplication by
/// 2^left_shift does not overflow.
int input_radius(int integer_bits, int left_shift);

}  // namespace octet::io
