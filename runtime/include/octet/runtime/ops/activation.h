// Elementwise activation functions. NaN stays NaN; infinities map to the
// functions' limits.
#pragma once

#include <limits>

#include <octet/runtime/variable.h>

namespace octet {

/// min(max(x, 0), max_value). The gradient at both bounds is 0.
/// Throws: ValueError for max_value <= 0.
Variable relu(const Variable& x);
Variable relu(const Variable& x, float max_value);

/// Fields in order: max_value, negative_slope, threshold
struct ReluOptions {
  float max_value = std::numeric_limits<float>::infinity();
  float negative_slope = 0;
  float threshold = 0;
};

/// min(x, max_value) for x > threshold, else negative_slope * (x - threshold)
/// with gradient negative_slope.
/// Throws: ValueError for max_value <= 0 or a non-finite slope or threshold.
/// Source: Keras, activations.relu.
Variable relu(const Variable& x, const ReluOptions& options);

/// x > 0 ? x : slope * x.
Variable leaky_relu(const Variable& x, float slope);
/// x > 0 ? x : alpha * x. Shapes: alpha broadcasts to x, as in NumPy. The
/// gradient at 0 is 0. Throws: ShapeError.
Variable prelu(const Variable& x, const Variable& alpha);
/// x > 0 ? x : alpha * (exp(x) - 1).
Variable elu(const Variable& x, float alpha = 1);
/// 1.0507 * elu(x, 1.6733).
/// Source: Klambauer et al. 2017, Self-Normalizing Neural Networks.
Variable selu(const Variable& x);

/// 1 / (1 + exp(-x)).
Variable sigmoid(const Variable& x);
Variable tanh(const Variable& x);
/// x * sigmoid(x), also called SiLU.
Variable swish(const Variable& x);

enum class GeluForm {
  exact,             ///< x * P(X <= x) for a standard normal X
  tanh_approximate,  ///< x/2 * (1 + tanh(sqrt(2/pi) * (x + 0.044715 x^3)))
};

/// Source: Hendrycks and Gimpel 2016, Gaussian Error Linear Units.
Variable gelu(const Variable& x, GeluForm form = GeluForm::exact);

/// min(max(x + 3, 0), 6) / 6. Source: Keras 3, activations.hard_sigmoid.
Variable hard_sigmoid(const Variable& x);
/// x * hard_sigmoid(x), also called hard SiLU.
Variable hard_swish(const Variable& x);
/// log(1 + exp(x)).
Variable softplus(const Variable& x);
/// x / (1 + |x|).
Variable softsign(const Variable& x);
/// exp(x).
Variable exponential(const Variable& x);

}  // namespace octet
