#include "fixed_point.h"

#include <array>
#include <bit>
#include <cmath>

namespace octet::io {
namespace {

constexpr int32_t kOne = std::numeric_limits<int32_t>::max();

// x * 2^exponent, saturating; negative exponents round.
int32_t saturating_shift(int32_t x, int exponent) {
  if (exponent <= 0) return rounding_shift(x, -exponent);
  const int64_t wide = int64_t{x} * (int64_t{1} << exponent);
  return static_cast<int32_t>(
      std::clamp<int64_t>(wide, std::numeric_limits<int32_t>::min(), kOne));
}

// (a + b) / 2, rounded, ties away from zero.
int32_t half_sum(int32_t a, int32_t b) {
  const int64_t sum = int64_t{a} + int64_t{b};
  const int64_t sign = sum >= 0 ? 1 : -1;
  return static_cast<int32_t>((sum + sign) / 2);
}

int32_t wrapped_sum(int32_t a, int32_t b) {
  return static_cast<int32_t>(static_cast<uint32_t>(a) +
                              static_cast<uint32_t>(b));
}

// exp(x), x in [-1/4, 0) with 31 fractional bits: Taylor series around -1/8.
int32_t exp_of_last_quarter(int32_t a) {
  constexpr int32_t kExpOfMinusEighth = 1895147668;
  constexpr int32_t kThird = 715827883;
  const int32_t x = wrapped_sum(a, 1 << 28);
  const int32_t x2 = high_product(x, x);
  const int32_t x3 = high_product(x2, x);
  const int32_t x4 = high_product(x2, x2);
  const int32_t x4_over_4 = saturating_shift(x4, -2);
  const int32_t terms = saturating_shift(
      wrapped_sum(high_product(wrapped_sum(x4_over_4, x3), kThird), x2), -1);
  return wrapped_sum(kExpOfMinusEighth,
                     high_product(kExpOfMinusEighth, wrapped_sum(x, terms)));
}

// 1 / (1 + x) or (1 - x) / (1 + x) begin with x_0 = 48/17 - 32/17 d, which
// Newton's method refines; 2 integer bits.
int32_t newton_inverse(int32_t half_denominator) {
  constexpr int32_t k48Over17 = 1515870810;
  constexpr int32_t kMinus32Over17 = -1010580540;
  constexpr int32_t kOneIn2 = 1 << 29;
  int32_t x =
      wrapped_sum(k48Over17, high_product(half_denominator, kMinus32Over17));
  for (int i = 0; i < 3; ++i) {
    const int32_t product = high_product(half_denominator, x);
    const int32_t rest = kOneIn2 - product;
    x = wrapped_sum(x, saturating_shift(high_product(x, rest), 2));
  }
  return x;
}

// (1 - x) / (1 + x), x in [0,1].
int32_t one_minus_over_one_plus(int32_t a) {
  const int32_t x = newton_inverse(half_sum(a, kOne));
  return saturating_shift(wrapped_sum(x, -(1 << 29)), 2);
}

}  // namespace

FixedFactor fixed_factor(double m) {
  FixedFactor result;
  if (m == 0) return result;
  const double fraction = std::frexp(m, &result.shift);
  auto fixed = static_cast<int64_t>(std::round(fraction * 0x1p31));
  if (fixed == int64_t{1} << 31) {
    fixed /= 2;
    ++result.shift;
  }
  if (result.shift < -31) return {};
  result.multiplier = static_cast<int32_t>(fixed);
  return result;
}

FixedFactor divided(FixedFactor f, int64_t count) {
  int shift = 63 - std::countl_zero(static_cast<uint64_t>(count));
  shift = std::min({shift, 32, 31 + f.shift});
  f.multiplier = static_cast<int32_t>(
      (int64_t{f.multiplier} * (int64_t{1} << shift)) / count);
  f.shift -= shift;
  return f;
}

int32_t exp_of_negative(int32_t a, int integer_bits) {
  const int fractional = 31 - integer_bits;
  const int32_t quarter = 1 << (fractional - 2);
  const int32_t in_quarter = (a & (quarter - 1)) - quarter;
  int32_t result =
      exp_of_last_quarter(saturating_shift(in_quarter, integer_bits));
  const int32_t remainder = wrapped_sum(in_quarter, -a);
  // exp(-2^exponent), with 31 fractional bits, from exponent -2.
  constexpr std::array<int32_t, 7> kFactors = {
      1672461947, 1302514674, 790015084, 290630308, 39332535, 720401, 242};
  for (int exponent = -2; exponent < integer_bits; ++exponent) {
    const int bit = fractional + exponent;
    if ((remainder & (1 << bit)) == 0) continue;
    result = high_product(result, kFactors[static_cast<size_t>(exponent + 2)]);
  }
  return a == 0 ? kOne : result;
}

int32_t inverse_of_one_plus(int32_t a) {
  // The inverse of half the denominator is halved: 2 integer bits become 0.
  return saturating_shift(newton_inverse(half_sum(a, kOne)), 1);
}

int32_t fixed_logistic(int32_t raw, int integer_bits) {
  if (raw == 0) return 1 << 30;
  const int32_t of_positive =
      inverse_of_one_plus(exp_of_negative(raw > 0 ? -raw : raw, integer_bits));
  return raw > 0 ? of_positive : kOne - of_positive;
}

int32_t fixed_tanh(int32_t raw, int integer_bits) {
  if (raw == 0) return 0;
  // tanh(x) of x < 0 is -(1 - exp(2x)) / (1 + exp(2x)).
  const int32_t negative = raw > 0 ? -raw : raw;
  const int32_t value =
      one_minus_over_one_plus(exp_of_negative(negative, integer_bits + 1));
  return raw > 0 ? value : -value;
}

int input_radius(int integer_bits, int left_shift) {
  const double most = ((1 << integer_bits) - 1) *
                      std::ldexp(1.0, 31 - integer_bits - left_shift);
  constexpr double kLargest = std::numeric_limits<int>::max();
  return static_cast<int>(std::min(std::floor(most), kLargest));
}

}  // namespace octet::io
