// What a scale that learns gets of the gradient behind its grid: see
// LearnedScale in ops/quantization.h.
#pragma once

#include "../kernels/kernels.h"
#include "expression.h"

namespace octet::autograd {

/// The gradient of a scale from the sum over its values of dy * slope.
float scale_gradient(double sum, float scale, const ScaleTarget& target);

/// The same of the whole expression, which ends on a grid with one scale. The
/// expression is materialized. Shapes: [].
Tensor scale_gradient(const Expression& e, const Tensor& g);

}  // namespace octet::autograd
