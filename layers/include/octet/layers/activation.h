#pragma once

#include <concepts>
#include <string>
#include <string_view>

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

}  // namespace octet
