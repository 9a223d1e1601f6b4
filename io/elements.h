// Conversion of bytes in either byte order to array elements. Internal to io.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

namespace octet::io {

static_assert(std::endian::native == std::endian::little);

/// Converts IEEE 754 half precision to single precision, exactly.
inline float half_to_float(uint16_t half) {
  const uint32_t sign = uint32_t{half & 0x8000u} << 16;
  const uint32_t exponent = half >> 10 & 0x1fu;
  const uint32_t fraction = half & 0x3ffu;
  if (exponent == 0) {
    const float magnitude = static_cast<float>(fraction) * 0x1p-24f;
    return sign != 0 ? -magnitude : magnitude;
  }
  const uint32_t wide = exponent == 0x1f ? 0xffu : exponent + 112;
  return std::bit_cast<float>(sign | wide << 23 | fraction << 13);
}

/// Loads the element at `from`, which need not be aligned. `swapped` reverses
/// its bytes, for big-endian data.
template <class T>
T element(const char* from, bool swapped) {
  char bytes[sizeof(T)];
  std::memcpy(bytes, from, sizeof(T));
  if (swapped) std::reverse(bytes, bytes + sizeof(T));
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return value;
}

}  // namespace octet::io
