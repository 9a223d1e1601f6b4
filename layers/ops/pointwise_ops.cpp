// Elementwise functions of ops.h.
#include <utility>

#include <octet/layers/activation.h>
#include <octet/layers/merging.h>
#include <octet/layers/normalization.h>
#include <octet/layers/ops.h>
#include <octet/layers/preprocessing.h>

namespace octet {

SymbolicTensor abs(const SymbolicTensor& x) { return Unary("abs")(x); }
SymbolicTensor ceil(const SymbolicTensor& x) { return Unary("ceil")(x); }
SymbolicTensor celu(const SymbolicTensor& x) { return Activation("celu")(x); }
SymbolicTensor cos(const SymbolicTensor& x) { return Unary("cos")(x); }
SymbolicTensor elu(const SymbolicTensor& x, float alpha) {
  return ELU({.alpha = alpha})(x);
}
SymbolicTensor erf(const SymbolicTensor& x) { return Unary("erf")(x); }
SymbolicTensor exp(const SymbolicTensor& x) {
  return Activation("exponential")(x);
}
SymbolicTensor floor(const SymbolicTensor& x) { return Unary("floor")(x); }
SymbolicTensor gelu(const SymbolicTensor& x, bool approximate) {
  return Activation(approximate ? "gelu_tanh" : "gelu")(x);
}
SymbolicTensor hard_sigmoid(const SymbolicTensor& x) {
  return Activation("hard_sigmoid")(x);
}
SymbolicTensor hard_silu(const SymbolicTensor& x) {
  return Activation("hard_swish")(x);
}
SymbolicTensor leaky_relu(const SymbolicTensor& x, float negative_slope) {
  return LeakyReLU({.negative_slope = negative_slope})(x);
}
SymbolicTensor log(const SymbolicTensor& x) { return Unary("log")(x); }
SymbolicTensor log_sigmoid(const SymbolicTensor& x) {
  return Activation("log_sigmoid")(x);
}
SymbolicTensor mish(const SymbolicTensor& x) { return Activation("mish")(x); }
SymbolicTensor negative(const SymbolicTensor& x) { return -x; }
SymbolicTensor reciprocal(const SymbolicTensor& x) {
  return Unary("reciprocal")(x);
}
SymbolicTensor relu(const SymbolicTensor& x) { return ReLU()(x); }
SymbolicTensor relu6(const SymbolicTensor& x) {
  return ReLU({.max_value = 6})(x);
}
SymbolicTensor round(const SymbolicTensor& x) { return Unary("round")(x); }
SymbolicTensor rsqrt(const SymbolicTensor& x) { return reciprocal(sqrt(x)); }
SymbolicTensor selu(const SymbolicTensor& x) { return Activation("selu")(x); }
SymbolicTensor sigmoid(const SymbolicTensor& x) {
  return Activation("sigmoid")(x);
}
SymbolicTensor sign(const SymbolicTensor& x) { return Unary("sign")(x); }
SymbolicTensor silu(const SymbolicTensor& x) { return Activation("silu")(x); }
SymbolicTensor sin(const SymbolicTensor& x) { return Unary("sin")(x); }
SymbolicTensor softplus(const SymbolicTensor& x) {
  return Activation("softplus")(x);
}
SymbolicTensor softsign(const SymbolicTensor& x) {
  return Activation("softsign")(x);
}
SymbolicTensor sqrt(const SymbolicTensor& x) { return Unary("sqrt")(x); }
SymbolicTensor square(const SymbolicTensor& x) { return Unary("square")(x); }
SymbolicTensor tanh(const SymbolicTensor& x) { return Activation("tanh")(x); }

SymbolicTensor power(const SymbolicTensor& x, float exponent) {
  if (exponent == 2) return square(x);
  if (exponent == 0.5f) return sqrt(x);
  if (exponent == -1) return reciprocal(x);
  return Power(exponent)(x);
}

SymbolicTensor clip(const SymbolicTensor& x, std::optional<float> min,
                    std::optional<float> max) {
  if (min == 0.0f && !max) return relu(x);
  if (min == 0.0f && *max > 0) return ReLU({.max_value = *max})(x);
  return ClipByValue({.min = min, .max = max})(x);
}

SymbolicTensor affine(const SymbolicTensor& x, std::vector<float> scale,
                      std::vector<float> offset) {
  return Rescaling({.scale = std::move(scale), .offset = std::move(offset)})(x);
}

SymbolicTensor softmax(const SymbolicTensor& x, int64_t axis) {
  return Softmax({.axis = axis})(x);
}

SymbolicTensor log_softmax(const SymbolicTensor& x, int64_t axis) {
  const LayerHandle layer = Activation("log_softmax");
  const bool last = axis == -1 || axis == x.shape().rank() - 1;
  return last ? layer(x) : moveaxis(layer(moveaxis(x, axis, -1)), -1, axis);
}

SymbolicTensor normalize(const SymbolicTensor& x, std::vector<int64_t> axes,
                         float epsilon) {
  return UnitNormalization({.axis = std::move(axes), .epsilon = epsilon})(x);
}

SymbolicTensor add(const SymbolicTensor& x, const SymbolicTensor& y) {
  return x + y;
}
SymbolicTensor subtract(const SymbolicTensor& x, const SymbolicTensor& y) {
  return x - y;
}
SymbolicTensor multiply(const SymbolicTensor& x, const SymbolicTensor& y) {
  return x * y;
}
SymbolicTensor divide(const SymbolicTensor& x, const SymbolicTensor& y) {
  return Divide()({x, y});
}
SymbolicTensor maximum(const SymbolicTensor& x, const SymbolicTensor& y) {
  return Maximum()({x, y});
}
SymbolicTensor minimum(const SymbolicTensor& x, const SymbolicTensor& y) {
  return Minimum()({x, y});
}

SymbolicTensor equal(const SymbolicTensor& x, const SymbolicTensor& y) {
  return Compare({.operation = "equal"})({x, y});
}
SymbolicTensor equal(const SymbolicTensor& x, float y) {
  return Compare({.operation = "equal", .value = y})(x);
}
SymbolicTensor greater(const SymbolicTensor& x, const SymbolicTensor& y) {
  return Compare({.operation = "greater"})({x, y});
}
SymbolicTensor greater(const SymbolicTensor& x, float y) {
  return Compare({.operation = "greater", .value = y})(x);
}
SymbolicTensor greater_equal(const SymbolicTensor& x, const SymbolicTensor& y) {
  return Compare({.operation = "greater_equal"})({x, y});
}
SymbolicTensor greater_equal(const SymbolicTensor& x, float y) {
  return Compare({.operation = "greater_equal", .value = y})(x);
}
SymbolicTensor less(const SymbolicTensor& x, const SymbolicTensor& y) {
  return Compare({.operation = "less"})({x, y});
}
SymbolicTensor less(const SymbolicTensor& x, float y) {
  return Compare({.operation = "less", .value = y})(x);
}
SymbolicTensor less_equal(const SymbolicTensor& x, const SymbolicTensor& y) {
  return Compare({.operation = "less_equal"})({x, y});
}
SymbolicTensor less_equal(const SymbolicTensor& x, float y) {
  return Compare({.operation = "less_equal", .value = y})(x);
}
SymbolicTensor not_equal(const SymbolicTensor& x, const SymbolicTensor& y) {
  return Compare({.operation = "not_equal"})({x, y});
}
SymbolicTensor not_equal(const SymbolicTensor& x, float y) {
  return Compare({.operation = "not_equal", .value = y})(x);
}

SymbolicTensor logical_and(const SymbolicTensor& x, const SymbolicTensor& y) {
  return multiply(x, y);
}
SymbolicTensor logical_or(const SymbolicTensor& x, const SymbolicTensor& y) {
  return maximum(x, y);
}
SymbolicTensor logical_not(const SymbolicTensor& x) { return 1 - x; }
SymbolicTensor logical_xor(const SymbolicTensor& x, const SymbolicTensor& y) {
  return not_equal(x, y);
}

SymbolicTensor where(const SymbolicTensor& condition, const SymbolicTensor& x,
                     const SymbolicTensor& y) {
  return Where()({condition, x, y});
}
SymbolicTensor matmul(const SymbolicTensor& a, const SymbolicTensor& b,
                      const MatmulOptions& options) {
  return Matmul({.transpose_a = options.transpose_a,
                 .transpose_b = options.transpose_b})({a, b});
}

}  // namespace octet
