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

/// Whether Activation, and the option `activation` of layers, has a function of
/// that name.
bool has_activation_function(std::string_view name);
/// Throws: ValueError naming the nearest names, if there is none.
void expect_activation_function(std::string_view name);

/// A function of every value (softmax, log_softmax: of the last axis), by
/// Keras' name: linear, celu, elu, exponential, gelu (exact), gelu_tanh (what
/// Keras and PyTorch have as an option of it), hard_shrink, hard_sigmoid,
/// hard_silu, hard_swish, hard_tanh, leaky_relu (slope 0.2), log_sigmoid,
/// log_softmax, mish, relu, relu6, selu, sigmoid, silu, soft_shrink, softmax,
/// softplus, softsign, sparse_plus, sparse_sigmoid, squareplus, swish, tanh,
/// tanh_shrink; with Keras' default arguments.
/// Throws: ValueError for another name.
class Activation : public LayerHandle {
 public:
  explicit Activation(const ActivationOptions& options);
  /// A template, as braces are for the options.
  template <std::convertible_to<std::string> Function>
  explicit Activation(const Function& function, const std::string& name = "")
      : Activation(ActivationOptions{.activation = function, .name = name}) {}
};

}  // namespace octet
