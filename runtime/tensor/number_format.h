// Rounding to floating-point formats of at most 8 bits.
#pragma once

#include <bit>
#include <cstdint>

#include <octet/runtime/quantization.h>

namespace octet {

/// A floating-point format with subnormal numbers and without infinity.
struct FloatFormat {
  int mantissa_bits;   ///< without the implicit bit
  int least_exponent;  ///< of normal numbers
  int exponent_bits;   ///< width of the exponent
  float largest;       ///< largest value

  /// Rounds to the nearest value, ties to even mantissas, as if the exponent
  /// had no upper bound. NaN stays NaN.
  float round(float x) const {
    const uint32_t bits = std::bit_cast<uint32_t>(x);
    const int exponent = static_cast<int>(bits >> 23 & 0xff) - 127;
    if (exponent < least_exponent) {
      // The sum's unit in the last place is the smallest subnormal number.
      const float magic =
          std::bit_cast<float>(
              static_cast<uint32_t>(least_exponent - mantissa_bits + 23 + 127)
              << 23) *
          1.5f;
      return std::bit_cast<float>(std::bit_cast<uint32_t>((x + magic) - magic) |
                                  (bits & 0x80000000u));
    }
    const int dropped = 23 - mantissa_bits;
    const uint32_t half = (1u << (dropped - 1)) - 1;
    const uint32_t even = bits >> dropped & 1;
    if (exponent == 128) return x;  // NaN and infinity
    return std::bit_cast<float>((bits + half + even) & ~((1u << dropped) - 1));
  }
};

/// Throws: ValueError for `integer`.
FloatFormat float_format(NumberFormat format);

}  // namespace octet
