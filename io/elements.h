// Elements of arrays by their type: of a Tensor, or of bytes in either byte
// order. Internal to io.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <cstring>

#include <octet/runtime/error.h>
#include <octet/runtime/tensor.h>

namespace octet::io {

static_assert(std::endian::native == std::endian::little);

/// Returns body(elements) for the elements of a tensor, a span of their type.
template <class Body>
decltype(auto) visit_elements(const Tensor& x, const Body& body) {
  switch (x.dtype()) {
    case DType::f32:
      return body(x.data<float>());
    case DType::i8:
      return body(x.data<int8_t>());
    case DType::u8:
      return body(x.data<uint8_t>());
    case DType::i16:
      return body(x.data<int16_t>());
    case DType::i32:
      return body(x.data<int32_t>());
    case DType::i64:
      return body(x.data<int64_t>());
    case DType::boolean:
      return body(x.data<bool>());
  }
  throw InternalError("internal", "tensor", "unknown element type");
}

/// Converts integers and bool to float32.
inline Tensor as_floats(const Tensor& x) {
  if (x.dtype() == DType::f32) return x;
  Tensor result(x.shape());
  visit_elements(x, [&](auto elements) {
    std::ranges::transform(elements, result.f32().begin(),
                           [](auto v) { return static_cast<float>(v); });
  });
  return result;
}

/// Converts whole numbers in float32 to i32 or i64; other tensors and types are
/// unchanged.
inline Tensor as_integers(const Tensor& x, DType type) {
  if (x.dtype() != DType::f32) return x;
  const auto convert = [&]<class Integer>(Integer) {
    Tensor result(x.shape(), type);
    std::ranges::transform(x.f32(), result.data<Integer>().begin(),
                           [](float v) { return static_cast<Integer>(v); });
    return result;
  };
  if (type == DType::i32) return convert(int32_t{});
  return type == DType::i64 ? convert(int64_t{}) : x;
}

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
