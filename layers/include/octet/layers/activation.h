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

/// Fields in order: activation, name
struct ActivationOptions {
  std::string activation = "linear";
  std::string name = "";
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
  explicit Activation(const ActivationOptions& options);
  /// A template, so that a braced argument selects the options constructor.
  template <std::convertible_to<std::string> Function>
  explicit Activation(const Function& function, const std::string& name = "")
      : Activation(ActivationOptions{.activation = function, .name = name}) {}
};

/// Fields in order: max_value, negative_slope, threshold, name
struct ReLUOptions {
  float max_value = std::numeric_limits<float>::infinity();
  float negative_slope = 0;
  float threshold = 0;
  std::string name = "";
};

/// Computes min(x, max_value) above the threshold and negative_slope * (x -
/// threshold) at or below it; max(x, 0) by default.
/// Throws: ValueError for max_value <= 0, or a slope or threshold that is
/// negative or not finite.
class ReLU : public LayerHandle {
 public:
  explicit ReLU(const ReLUOptions& options = {});
};

/// Fields in order: negative_slope, name
struct LeakyReLUOptions {
  float negative_slope = 0.3f;  ///< "alpha" in Keras 2 configurations
  std::string name = "";
};

/// Computes x > 0 ? x : negative_slope * x.
/// Throws: ValueError for a negative or non-finite slope.
class LeakyReLU : public LayerHandle {
 public:
  explicit LeakyReLU(const LeakyReLUOptions& options = {});
};

/// Fields in order: alpha_initializer, alpha_regularizer, shared_axes, name
struct PReLUOptions {
  Initializer alpha_initializer = zeros();
  Regularizer alpha_regularizer = {};
  std::vector<int64_t> shared_axes =
      {};  ///< e.g. {1, 2}: one slope per channel
  std::string name = "";
};

/// Computes x > 0 ? x : alpha * x with one slope per feature, shared along
/// shared_axes. Parameter: alpha, with the shape of one sample and size 1 along
/// the shared axes.
/// Throws: ValueError for the batch as shared axis or an axis out of range;
/// ShapeError for rank < 2.
class PReLU : public LayerHandle {
 public:
  explicit PReLU(const PReLUOptions& options = {});
};

/// Fields in order: alpha, name
struct ELUOptions {
  float alpha = 1;
  std::string name = "";
};

/// Computes x > 0 ? x : alpha * (exp(x) - 1).
/// Throws: ValueError for a non-finite alpha.
class ELU : public LayerHandle {
 public:
  explicit ELU(const ELUOptions& options = {});
};

/// Fields in order: axis, name
struct SoftmaxOptions {
  int64_t axis = -1;
  std::string name = "";
};

/// Computes exp(x) / sum exp(x) over an axis of a sample. Training losses take
/// logits, so end a network for training before this layer.
/// Throws: ShapeError for the batch axis or an axis out of range.
class Softmax : public LayerHandle {
 public:
  explicit Softmax(const SoftmaxOptions& options = {});
};

/// Fields in order: min, max, name
struct ClipByValueOptions {
  std::optional<float> min = {};
  std::optional<float> max = {};
  std::string name = "";
};

/// Computes min(max(x, min), max), as tf.clip_by_value and torch.clamp; an
/// unset bound does not apply. For min = 0, ReLU is faster.
/// Shapes: [n,...] -> [n,...].
/// Throws: ValueError for non-finite bounds or min > max.
class ClipByValue : public LayerHandle {
 public:
  explicit ClipByValue(const ClipByValueOptions& options = {});
};

/// Fields in order: operation, name
struct UnaryOptions {
  /// "abs", "ceil", "cos", "erf", "floor", "log", "reciprocal", "round",
  /// "sign", "sin", "sqrt" or "square".
  std::string operation = "";
  std::string name = "";
};

/// Applies an elementwise operation other than an activation function, for
/// graphs of other frameworks. log and sqrt return NaN below 0; round rounds
/// ties to even; ceil, floor, round and sign have no gradient.
/// Shapes: [n,...] -> [n,...].
/// Throws: ValueError for an unknown operation.
class Unary : public LayerHandle {
 public:
  explicit Unary(const UnaryOptions& options);
  /// A template, so that a braced argument selects the options constructor.
  template <std::convertible_to<std::string> Operation>
  explicit Unary(const Operation& operation, const std::string& name = "")
      : Unary(UnaryOptions{.operation = operation, .name = name}) {}
};

}  // namespace octet
