// Operators: `2 * x - y`, `-x`, `x / y`, `x[0]`. Numbers apply to every
// element; tensors broadcast as in arithmetic.h.
//
// There is no `+=`: `w -= rate * w.grad()` would rebind `w` and leave the
// parameter unchanged. Update parameters with an optimizer, assign() or
// mutable_value().
#pragma once

#include <concepts>
#include <type_traits>

#include <octet/runtime/language.h>
#include <octet/runtime/ops/arithmetic.h>

namespace octet {

template <class T>
concept Number = std::is_arithmetic_v<T> && !std::same_as<T, bool>;

inline Variable operator+(const Variable& x, const Variable& y) {
  return add(x, y);
}
inline Variable operator-(const Variable& x, const Variable& y) {
  return subtract(x, y);
}
inline Variable operator*(const Variable& x, const Variable& y) {
  return multiply(x, y);
}
inline Variable operator/(const Variable& x, const Variable& y) {
  return divide(x, y);
}
inline Variable operator-(const Variable& x) { return negate(x); }

template <Number N>
Variable operator+(const Variable& x, N y) {
  return scale_shift(x, 1, static_cast<float>(y));
}
template <Number N>
Variable operator+(N x, const Variable& y) {
  return y + x;
}
template <Number N>
Variable operator-(const Variable& x, N y) {
  return scale_shift(x, 1, -static_cast<float>(y));
}
template <Number N>
Variable operator-(N x, const Variable& y) {
  return scale_shift(y, -1, static_cast<float>(x));
}
template <Number N>
Variable operator*(const Variable& x, N y) {
  return scale_shift(x, static_cast<float>(y));
}
template <Number N>
Variable operator*(N x, const Variable& y) {
  return y * x;
}
/// Divides, instead of multiplying with a rounded reciprocal.
template <Number N>
Variable operator/(const Variable& x, N y) {
  return divide(x, Tensor::scalar(static_cast<float>(y)));
}
template <Number N>
Variable operator/(N x, const Variable& y) {
  return divide(Tensor::scalar(static_cast<float>(x)), y);
}

}  // namespace octet
