// Functions that accept all element types.
#include <cmath>
#include <limits>
#include <type_traits>

#include <fmt/format.h>

#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>

namespace octet {
namespace {

// Converts a number that fits.
template <class To, class From>
To cast_number(From x) {
  if constexpr (std::is_same_v<To, bool>) {
    return x != 0;
  } else if constexpr (std::is_same_v<To, float>) {
    return static_cast<float>(x);
  } else {
    // Both bounds are powers of two, or one less, and exact as long double.
    const auto value = std::trunc(static_cast<long double>(x));
    using Limits = std::numeric_limits<To>;
    if (!(value >= static_cast<long double>(Limits::min()) &&
          value <= static_cast<long double>(Limits::max()))) {
      throw ValueError("out_of_range", "cast",
                       fmt::format("{} is outside the range of {}", x,
                                   to_string(DTypeOf<To>::value)));
    }
    return static_cast<To>(x);
  }
}

template <class From>
void cast_from(const Tensor& x, Tensor& y) {
  const auto from = x.data<From>();
  const auto to = [&]<class To>(std::type_identity<To>) {
    const auto out = y.data<To>();
    for (size_t i = 0; i < out.size(); ++i) {
      out[i] = cast_number<To>(from[i]);
    }
  };
  switch (y.dtype()) {
    case DType::f32:
      return to(std::type_identity<float>());
    case DType::i8:
      return to(std::type_identity<int8_t>());
    case DType::u8:
      return to(std::type_identity<uint8_t>());
    case DType::i16:
      return to(std::type_identity<int16_t>());
    case DType::i32:
      return to(std::type_identity<int32_t>());
    case DType::i64:
      return to(std::type_identity<int64_t>());
    case DType::boolean:
      return to(std::type_identity<bool>());
  }
}

}  // namespace

Tensor cast(const Tensor& x, DType type) {
  Tensor y(x.shape(), type);
  switch (x.dtype()) {
    case DType::f32:
      cast_from<float>(x, y);
      break;
    case DType::i8:
      cast_from<int8_t>(x, y);
      break;
    case DType::u8:
      cast_from<uint8_t>(x, y);
      break;
    case DType::i16:
      cast_from<int16_t>(x, y);
      break;
    case DType::i32:
      cast_from<int32_t>(x, y);
      break;
    case DType::i64:
      cast_from<int64_t>(x, y);
      break;
    case DType::boolean:
      cast_from<bool>(x, y);
      break;
  }
  return y;
}

Tensor reshape(const Tensor& x, const Shape& shape) {
  return x.reshaped(shape);
}
Tensor transpose(const Tensor& x, const std::vector<int>& axes) {
  return x.transposed(axes);
}

}  // namespace octet
