// Gradient of a trainable scale: see LearnedScale in ops/quantization.h.
#pragma once

#include "expression.h"
#include "kernels/kernels.h"

namespace octet::autograd {

/// Gradient of a scale from the sum of dy * slope over its values.
float scale_gradient(double sum, float scale, const ScaleTarget& target);

/// Gradient of the per-tensor scale of a materialized expression. Shapes: [].
Tensor scale_gradient(const Expression& e, const Tensor& g);

}  // namespace octet::autograd
