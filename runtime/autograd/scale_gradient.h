// Gradient of a trainable scale: see LearnedScale in ops/quantization.h.
#pragma once

#include "expression.h"
#include "kernels/kernels.h"

namespace octet::autograd {

/// Gradient of a scale from the sum of dy * slope over its values.
float scale_gradient(double sum, float scale, const ScaleTarget& target);

/// Gradient of the per-tensor scale of a materialized expression, in a separate
/// pass. Shapes: [].
Tensor scale_gradient(const Expression& e, const Tensor& g);
/// Derivative of a quantized expression by its scale, at each value.
Tensor scale_slopes(const Expression& e);
/// Sum of products of two expressions of equal shape.
double dot(const Expression& a, const Tensor& b);
/// The same from the sums of an epilogue (GradientSink::slopes).
Tensor sum_of_slopes(const Expression& e, const Tensor& slopes);

}  // namespace octet::autograd
