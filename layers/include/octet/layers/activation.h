// Activation functions and other elementwise functions of one tensor.
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <octet/layers/graph.h>

namespace octet {

/// Options of Activation.
/// Fields in order: activation, name
struct ActivationOptions {
  std::string activation = "linear";  ///< name of the function; see Activation
  std::string name = "";  ///< unique in a model; empty: from the class name
};

/// Returns whether an activation function of that name exists.
bool has_activation_function(std::string_view name);
/// Checks the name of an activation function.
/// Throws: ValueError with the nearest names for an unknown function.
void expect_activation_function(std::string_view name);

/// Applies an activation function to every element (softmax and log_softmax:
/// along the last axis). Names and default arguments are Keras': linear, celu,
/// elu, exponential, gelu (exact), gelu_tanh (in Keras and PyTorch an option of
/// gelu), hard_shrink, hard_sigmoid, hard_silu, hard_swish, hard_tanh,
/// leaky_relu (slope 0.2), log_sigmoid, log_softmax, mish, relu, relu6, selu,
/// sigmoid, silu, soft_shrink, softmax, softplus, softsign, sparse_plus,
/// sparse_sigmoid, squareplus, swish, tanh, tanh_shrink.
/// Throws: ValueError for an unknown function; ShapeError for a softmax of rank
/// < 2.
class Activation : public LayerHandle {
 public:
  /// Checks the options. Each call checks its inputs.
  explicit Activation(const ActivationOptions& options);
  /// A template, so that a braced argument selects the options constructor.
  template <std::convertible_to<std::string> Function>
  explicit Activation(const Function& function, const std::string& name = "")
      : Activation(ActivationOptions{.activation = function, .name = name}) {}
};

/// Options of ReLU.
/// Fields in order: max_value, negative_slope, threshold, name
struct ReLUOptions {
  /// Upper limit of the output, > 0; infinity: none.
  float max_value = std::numeric_limits<float>::infinity();
  float negative_slope = 0;  ///< slope up to the threshold, >= 0 and finite
  float threshold = 0;    ///< inputs above it pass unchanged; >= 0 and finite
  std::string name = "";  ///< unique in a model; empty: from the class name
};

/// Computes min(x, max_value) above the threshold and negative_slope * (x -
/// threshold) at or below it; max(x, 0) by default.
/// Throws: ValueError for max_value <= 0, or a slope or threshold that is
/// negative or not finite.
class ReLU : public LayerHandle {
 public:
  /// Checks the options. Each call checks its inputs.
  explicit ReLU(const ReLUOptions& options = {});
};

/// Options of LeakyReLU.
/// Fields in order: negative_slope, name
struct LeakyReLUOptions {
  /// Slope of negative inputs, >= 0 and finite. Named "alpha" in Keras 2
  /// configurations.
  float negative_slope = 0.3f;
  std::string name = "";  ///< unique in a model; empty: from the class name
};

/// Computes x > 0 ? x : negative_slope * x.
/// Throws: ValueError for a negative or non-finite slope.
class LeakyReLU : public LayerHandle {
 public:
  /// Checks the options. Each call checks its inputs.
  explicit LeakyReLU(const LeakyReLUOptions& options = {});
};

/// Options of PReLU.
/// Fields in order: alpha_initializer, alpha_regularizer, shared_axes, name
struct PReLUOptions {
  Initializer alpha_initializer = zeros();  ///< initial alpha values
  Regularizer alpha_regularizer = {};       ///< penalty on alpha; {}: none
  /// Axes along which a slope is shared, in [1, rank): {1, 2} is one slope per
  /// channel of images.
  std::vector<int64_t> shared_axes = {};
  std::string name = "";  ///< unique in a model; empty: from the class name
};

/// Computes x > 0 ? x : alpha * x with one slope per feature, shared along
/// shared_axes. Parameter: alpha, with the shape of one sample and size 1 along
/// the shared axes.
/// Throws: ValueError for the batch as shared axis or an axis out of range;
/// ShapeError for rank < 2 or, in a shared layer, other shapes of alpha.
class PReLU : public LayerHandle {
 public:
  /// The first call creates the parameter.
  explicit PReLU(const PReLUOptions& options = {});
};

/// Options of ELU.
/// Fields in order: alpha, name
struct ELUOptions {
  float alpha = 1;        ///< limit for large negative inputs is -alpha; finite
  std::string name = "";  ///< unique in a model; empty: from the class name
};

/// Computes x > 0 ? x : alpha * (exp(x) - 1).
/// Throws: ValueError for a non-finite alpha.
class ELU : public LayerHandle {
 public:
  /// Checks the options. Each call checks its inputs.
  explicit ELU(const ELUOptions& options = {});
};

/// Options of Softmax.
/// Fields in order: axis, name
struct SoftmaxOptions {
  int64_t axis = -1;      ///< not the batch (0); negative counts from the end
  std::string name = "";  ///< unique in a model; empty: from the class name
};

/// Computes exp(x) / sum exp(x) over an axis of a sample. Training losses take
/// logits, so end a network for training before this layer.
/// Throws: ShapeError for rank < 2, the batch axis or an axis out of range, or
/// if `axis` is the last axis in some calls of the layer only.
class Softmax : public LayerHandle {
 public:
  /// Each call checks its inputs.
  explicit Softmax(const SoftmaxOptions& options = {});
};

/// Options of ClipByValue.
/// Fields in order: min, max, name
struct ClipByValueOptions {
  std::optional<float> min = {};  ///< lower bound, finite; unset: none
  std::optional<float> max = {};  ///< upper bound, finite, >= min; unset: none
  std::string name = "";  ///< unique in a model; empty: from the class name
};

/// Computes min(max(x, min), max), as tf.clip_by_value and torch.clamp; an
/// unset bound does not apply. For min = 0, ReLU is faster.
/// Shapes: [n,...] -> [n,...].
/// Throws: ValueError for non-finite bounds or min > max.
class ClipByValue : public LayerHandle {
 public:
  /// Checks the options. Each call checks its inputs.
  explicit ClipByValue(const ClipByValueOptions& options = {});
};

/// Options of Unary.
/// Fields in order: operation, name
struct UnaryOptions {
  /// Required: "abs", "ceil", "cos", "erf", "floor", "log", "reciprocal",
  /// "round", "sign", "sin", "sqrt" or "square".
  std::string operation = "";
  std::string name = "";  ///< unique in a model; empty: from the class name
};

/// Applies an elementwise operation other than an activation function, for
/// graphs of other frameworks. log and sqrt return NaN below 0; round rounds
/// ties to even; ceil, floor, round and sign have no gradient.
/// Shapes: [n,...] -> [n,...].
/// Throws: ValueError for an unknown operation.
class Unary : public LayerHandle {
 public:
  /// Checks the options. Each call checks its inputs.
  explicit Unary(const UnaryOptions& options);
  /// A template, so that a braced argument selects the options constructor.
  template <std::convertible_to<std::string> Operation>
  explicit Unary(const Operation& operation, const std::string& name = "")
      : Unary(UnaryOptions{.operation = operation, .name = name}) {}
};

/// Options of Power.
/// Fields in order: exponent, name
struct PowerOptions {
  float exponent = 1;     ///< finite; 1 returns the input
  std::string name = "";  ///< unique in a model; empty: from the class name
};

/// Computes x^exponent for each element; NaN for negative x and a non-integer
/// exponent.
/// Shapes: [n,...] -> [n,...].
/// Throws: ValueError for a non-finite exponent.
class Power : public LayerHandle {
 public:
  /// Checks the options. Each call checks its inputs.
  explicit Power(const PowerOptions& options);
  explicit Power(float exponent) : Power(PowerOptions{.exponent = exponent}) {}
};

}  // namespace octet
