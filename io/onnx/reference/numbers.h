// Arithmetic defined for all values of all element types: integers wrap around,
// conversions saturate.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace octet::io::run {

template <class T, class F>
T wrapped(T a, T b, F f) {
  if constexpr (std::is_integral_v<T>) {
    using U = std::make_unsigned_t<std::common_type_t<T, int>>;
    return static_cast<T>(f(static_cast<U>(a), static_cast<U>(b)));
  } else {
    return f(a, b);
  }
}

template <class T>
T plus(T a, T b) {
  return wrapped(a, b, [](auto x, auto y) { return x + y; });
}
template <class T>
T minus(T a, T b) {
  return wrapped(a, b, [](auto x, auto y) { return x - y; });
}
template <class T>
T times(T a, T b) {
  return wrapped(a, b, [](auto x, auto y) { return x * y; });
}

/// Converts an integral number to the nearest value of T; NaN to the lowest.
template <class T>
T saturated(double x) {
  constexpr double kLow = static_cast<double>(std::numeric_limits<T>::lowest());
  constexpr double kHigh = static_cast<double>(std::numeric_limits<T>::max());
  if (!(x > kLow)) return std::numeric_limits<T>::lowest();
  // For int64, kHigh is rounded up and does not fit.
  if (x >= kHigh) return std::numeric_limits<T>::max();
  return static_cast<T>(x);
}

/// saturated(round_half_even(x) + zero), the quantization of all operators.
template <class T>
T quantized(double x, T zero) {
  return saturated<T>(std::nearbyint(x) + static_cast<double>(zero));
}

/// Returns the larger number, or NaN if either is NaN.
template <class T>
T larger(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a)) return a;
    if (std::isnan(b)) return b;
  }
  return std::max(a, b);
}
template <class T>
T smaller(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    if (std::isnan(a)) return a;
    if (std::isnan(b)) return b;
  }
  return std::min(a, b);
}

}  // namespace octet::io::run
