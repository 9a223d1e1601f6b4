// Tensor arithmetic. Operands broadcast as in NumPy: axes are aligned at the
// last, and sizes of 1 (or missing axes) repeat. NaN stays NaN.
#pragma once

#include <octet/runtime/variable.h>

namespace octet {

/// x + bias over the last axis. Shapes: x [...,c], bias [c].
Variable bias_add(const Variable& x, const Variable& bias);

/// x + y; deferred if the shapes are equal. Throws: ShapeError.
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

}  // namespace octet
