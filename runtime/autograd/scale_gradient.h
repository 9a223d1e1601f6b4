// What a scale that learns gets of the gradient behind its grid (LSQ).
// Source: Esser et al., "Learned step size quantization", arXiv 1902.08153,
// equations 1 and 3.
#pragma once

#include "expression.h"

namespace octet::autograd {

/// Adds g[i] * d(scale * code)/d(scale) to sums[i % 8], for x[i] of the code
/// codes[i] on a grid [low, high]: code - x/scale between its ends, and the
/// code beyond. Sums are taken in a fixed order.
void add_scale_gradient(const float* x, const float* codes, const float* g,
                        int64_t size, float scale, const Grid& grid,
                        double* sums);

/// The sum over the whole expression, which ends on a grid with one scale,
/// times the factor of its target. The expression is materialized. Shapes: [].
Tensor scale_gradient(const Expression& e, const Tensor& g);

}  // namespace octet::autograd
