// matmul() of two operands on integer grids.
#pragma once

#include "../autograd/expression.h"
#include "matrix_pairs.h"

namespace octet {

/// Whether both end on grids whose codes can be multiplied, b's in int8.
bool have_codes(const autograd::Expression& a, const autograd::Expression& b);

/// The sums in whole numbers, times both scales. Empty if there is a NaN, which
/// has no code. Of a the rows count, not the shape; sums_fit() in 32 bits.
Tensor multiply_codes(const autograd::Expression& a,
                      const autograd::Expression& b, const MatrixPairs& p,
                      const MatmulOptions& o);

/// The codes of an expression on a grid, as floats.
Tensor float_codes_of(const autograd::Expression& e);

/// What turns sums of code products into values.
float code_scale(const autograd::Expression& a, const autograd::Expression& b);

}  // namespace octet
