// Arithmetic, reductions, selection and operators on Variables.
#pragma once

#include <concepts>
#include <optional>
#include <type_traits>
#include <vector>

#include <octet/runtime/detail/language.h>
#include <octet/runtime/variable.h>

namespace octet {

// Tensor arithmetic. Operands broadcast as in NumPy: axes are aligned at the
// last, and sizes of 1 (or missing axes) repeat. NaN stays NaN.

/// x + bias over the last axis. Shapes: x [...,c], bias [c]. Throws:
/// ShapeError.
Variable bias_add(const Variable& x, const Variable& bias);

/// x + y. Throws: ShapeError.
Variable add(const Variable& x, const Variable& y);
/// x - y. Throws: ShapeError.
Variable subtract(const Variable& x, const Variable& y);
/// x * y. Throws: ShapeError.
Variable multiply(const Variable& x, const Variable& y);
/// x / y. Throws: ShapeError.
Variable divide(const Variable& x, const Variable& y);
/// The larger operand. Equal operands get half the gradient each.
/// Throws: ShapeError. Source: JAX, lax.max.
Variable maximum(const Variable& x, const Variable& y);
/// The smaller operand; ties as in maximum(). Throws: ShapeError.
Variable minimum(const Variable& x, const Variable& y);

/// scale * x + shift.
Variable scale_shift(const Variable& x, float scale, float shift = 0);
/// -x.
Variable negate(const Variable& x);
/// |x|; the gradient at 0 is 0.
Variable absolute(const Variable& x);
/// x^2.
Variable square(const Variable& x);
/// The square root; NaN below 0. The gradient at 0 is infinite.
Variable sqrt(const Variable& x);
/// The natural logarithm; NaN below 0, -infinity at 0.
Variable log(const Variable& x);
/// x^exponent; NaN for negative x with a fractional exponent.
Variable power(const Variable& x, float exponent);
/// The sine and the cosine of an angle in radians.
Variable sin(const Variable& x);
Variable cos(const Variable& x);
/// Rounding to integers: down, up, to nearest (ties to even). Gradients are
/// zero, as in PyTorch.
Variable floor(const Variable& x);
Variable ceil(const Variable& x);
Variable round(const Variable& x);
/// -1, 0 or 1; NaN stays NaN. The gradient is zero.
Variable sign(const Variable& x);
/// The error function, 2/sqrt(pi) times the integral of exp(-t^2) from 0 to x.
/// Range: [-1, 1].
Variable erf(const Variable& x);

// Operators: `2 * x - y`, `-x`, `x / y`, `x[0]`. Numbers apply to every
// element; tensors broadcast as above.
//
// There is no `+=`: `w -= rate * w.grad()` would rebind `w` and leave the
// parameter unchanged. Update parameters with an optimizer, assign() or
// mutable_value().

/// Any built-in number type except bool.
template <class T>
concept Number = std::is_arithmetic_v<T> && !std::same_as<T, bool>;

/// add(), subtract(), multiply(), divide() and negate().
/// Throws: ShapeError.
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

/// x + y for each element of x. Numbers are rounded to float.
template <Number N>
Variable operator+(const Variable& x, N y) {
  return scale_shift(x, 1, static_cast<float>(y));
}
/// x + y for each element of y.
template <Number N>
Variable operator+(N x, const Variable& y) {
  return y + x;
}
/// x - y for each element of x.
template <Number N>
Variable operator-(const Variable& x, N y) {
  return scale_shift(x, 1, -static_cast<float>(y));
}
/// x - y for each element of y.
template <Number N>
Variable operator-(N x, const Variable& y) {
  return scale_shift(y, -1, static_cast<float>(x));
}
/// x * y for each element of x.
template <Number N>
Variable operator*(const Variable& x, N y) {
  return scale_shift(x, static_cast<float>(y));
}
/// x * y for each element of y.
template <Number N>
Variable operator*(N x, const Variable& y) {
  return y * x;
}
/// x / y for each element of x: divides, instead of multiplying with a rounded
/// reciprocal.
template <Number N>
Variable operator/(const Variable& x, N y) {
  return divide(x, Tensor::scalar(static_cast<float>(y)));
}
/// x / y for each element of y.
template <Number N>
Variable operator/(N x, const Variable& y) {
  return divide(Tensor::scalar(static_cast<float>(x)), y);
}

// Reductions over some axes or all elements. Sums are accumulated in a fixed
// order, in single precision over short runs and in double precision across
// them: bit-identical for any number of threads.

/// Whether reduced axes are kept with size 1.
enum class Keepdims { no, yes };

/// Sums over all elements (a rank-0 result) or over `axes`. Negative axes count
/// from the end; an empty list returns x unchanged.
/// Throws: ShapeError for an axis that does not exist or is repeated.
Variable sum(const Variable& x);
Variable sum(const Variable& x, const std::vector<int>& axes,
             Keepdims keepdims = Keepdims::no);

/// Means. Throws: as sum, and ShapeError for reductions over no values.
Variable mean(const Variable& x);
Variable mean(const Variable& x, const std::vector<int>& axes,
              Keepdims keepdims = Keepdims::no);

/// Maxima; NaN if any value is NaN. Equal maxima share the gradient equally, as
/// in JAX. Throws: as mean.
Variable max(const Variable& x);
Variable max(const Variable& x, const std::vector<int>& axes,
             Keepdims keepdims = Keepdims::no);

/// Minima, with the same rules as max.
Variable min(const Variable& x);
Variable min(const Variable& x, const std::vector<int>& axes,
             Keepdims keepdims = Keepdims::no);

/// Products, accumulated in double precision; 1 for reductions over no values.
/// The gradient of a value is the product of the others, also beside zeros.
/// Throws: as sum.
Variable prod(const Variable& x);
Variable prod(const Variable& x, const std::vector<int>& axes,
              Keepdims keepdims = Keepdims::no);

// Comparison and selection. Tensors broadcast as above.

/// Relation of x to y in compare().
enum class Comparison {
  equal,
  not_equal,
  greater,
  greater_equal,
  less,
  less_equal,
};

/// 1 where the comparison is true, else 0; NaN compares unequal to everything.
/// The gradient is zero. Throws: ShapeError.
Variable compare(Comparison comparison, const Variable& x, const Variable& y);
/// x where the condition is nonzero, else y; gradients likewise. Unselected
/// values may be NaN. Throws: ShapeError.
Variable where(const Variable& condition, const Variable& x, const Variable& y);

/// Further names of absolute(), negate() and power(). pow() and neg() are
/// PyTorch's names.
inline Variable abs(const Variable& x) { return absolute(x); }
inline Variable negative(const Variable& x) { return negate(x); }
inline Variable neg(const Variable& x) { return negate(x); }
inline Variable pow(const Variable& x, float exponent) {
  return power(x, exponent);
}
/// 1 / x.
Variable reciprocal(const Variable& x);
/// 1 / sqrt(x).
Variable rsqrt(const Variable& x);
/// Limits x to [min, max]; each bound is optional. NaN stays NaN. The gradient
/// at a bound is half, as in maximum().
/// Throws: ValueError for NaN bounds or min > max.
Variable clip(const Variable& x, std::optional<float> min,
              std::optional<float> max);
/// x * scale + offset. `scale` and `offset` have a single number, or one for
/// each entry of the last axis. Throws: ShapeError for other numbers.
Variable affine(const Variable& x, const std::vector<float>& scale,
                const std::vector<float>& offset);

/// Indices of the largest and the smallest entries along an axis, the first of
/// equal ones, as f32. The last index if there is none because of NaN. Their
/// gradient is zero. Throws: as max().
Variable argmax(const Variable& x, int axis = -1,
                Keepdims keepdims = Keepdims::no);
Variable argmin(const Variable& x, int axis = -1,
                Keepdims keepdims = Keepdims::no);
/// log(sum(exp(x))), without overflow. Throws: as max().
Variable logsumexp(const Variable& x, const std::vector<int>& axes,
                   Keepdims keepdims = Keepdims::no);

/// Comparisons, elementwise: 1 if true, otherwise 0; NaN compares unequal to
/// everything. The gradient is zero. Throws: ShapeError.
Variable equal(const Variable& x, const Variable& y);
Variable equal(const Variable& x, float y);
Variable not_equal(const Variable& x, const Variable& y);
Variable not_equal(const Variable& x, float y);
Variable greater(const Variable& x, const Variable& y);
Variable greater(const Variable& x, float y);
Variable greater_equal(const Variable& x, const Variable& y);
Variable greater_equal(const Variable& x, float y);
Variable less(const Variable& x, const Variable& y);
Variable less(const Variable& x, float y);
Variable less_equal(const Variable& x, const Variable& y);
Variable less_equal(const Variable& x, float y);
/// Logical functions of comparison results, 1 or 0. Throws: ShapeError.
Variable logical_and(const Variable& x, const Variable& y);
Variable logical_or(const Variable& x, const Variable& y);
Variable logical_xor(const Variable& x, const Variable& y);
Variable logical_not(const Variable& x);

}  // namespace octet
