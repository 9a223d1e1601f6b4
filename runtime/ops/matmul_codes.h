// matmul() of two quantized operands.
#pragma once

#include "autograd/expression.h"
#include "matrix_pairs.h"

namespace octet {

/// Whether the quantized values of both operands can be multiplied, b's as
/// INT8.
bool have_codes(const autograd::Expression& a, const autograd::Expression& b);

/// Computes the product in integers and applies both scales. Returns false if
/// there is NaN, which has no quantized value: y is then invalid. Only the rows
/// of a matter, not its shape.
/// REQUIRES: sums_fit().
bool multiply_quantized(const autograd::Expression& a,
                        const autograd::Expression& b, const MatrixPairs& p,
                        const MatmulOptions& o, Tensor& y);

/// Quantized values of an expression, as floats.
Tensor float_codes_of(const autograd::Expression& e);

/// Scale of the sums of products.
float code_scale(const autograd::Expression& a, const autograd::Expression& b);

}  // namespace octet
