// matmul() of two operands on integer grids.
#pragma once

#include "../autograd/expression.h"
#include "matrix_pairs.h"

namespace octet {

/// Whether both end on grids whose codes can be multiplied in integers, b's in
/// int8, and sums of `depth` products fit in 32 bits.
bool multiplies_codes(const autograd::Expression& a,
                      const autograd::Expression& b, int64_t depth);

/// The sums in whole numbers, times both scales: [pairs][m][n]. Empty if there
/// is a NaN, which has no code. a's rows may be of any shape.
Tensor multiply_codes(const autograd::Expression& a,
                      const autograd::Expression& b, const MatrixPairs& p,
                      const MatmulOptions& o);

/// The codes of an expression on a grid, as floats.
Tensor float_codes_of(const autograd::Expression& e);

/// What turns sums of code products into values.
float code_scale(const autograd::Expression& a, const autograd::Expression& b);

}  // namespace octet
