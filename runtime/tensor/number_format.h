// Rounding to floating-point formats of at most 8 bits.
#pragma once

#include <bit>
#include <cstdint>

#include <octet/runtime/quantization.h>

namespace octet {

/// A floating-point format with subnormal numbers and without infinity.
struct FloatFormat {
  int mantissa_bits;   ///< without the implicit bit
  int least_exponent;  ///< exponent of the smallest normal number
  int exponent_bits;   ///< width of the exponent
  float largest;       ///< largest value

  /// Rounds to the nearest value, ties to even mantissas, as if the exponent
  /// had no upper bound. NaN stays NaN.
  float round(float x) const {
    const uint32_t bits = std::bit_cast<uint32_t>(x);
    const int exponent = static_cast<int>(bits >> 23 & 0xff) - 127;
    if (exponent == 128) return x;  // NaN and infinity
    if (exponent < least_exponent) {
      // A sum with this offset rounds to a multiple of the smallest subnormal.
      const float offset =
          std::bit_cast<float>(
              static_cast<uint32_t>(least_exponent - mantissa_bits + 23 + 127)
              << 23) *
          1.5f;
      return std::bit_cast<float>(
          std::bit_cast<uint32_t>((x + offset) - offset) |
          (bits & 0x80000000u));
    }
    const int dropped = 23 - mantissa_bits;
    const uint32_t below_half = (1u << (dropped - 1)) - 1;
    const uint32_t is_odd = bits >> dropped & 1;
    return std::bit_cast<float>((bits + below_half + is_odd) &
                                ~((1u << dropped) - 1));
  }
};

/// Throws: ValueError for `integer`.
FloatFormat float_format(NumberFormat format);

}  // namespace octet
