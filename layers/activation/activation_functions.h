// Keras' activation functions by name, for the option `activation` and the
// layer Activation.
#pragma once

#include <string>
#include <string_view>

#include <octet/layers/custom_layer.h>
#include <octet/runtime/ops/nn.h>
#include <octet/runtime/variable.h>

namespace octet {

struct ActivationFunction {
  std::string_view name;
  Variable (*apply)(const Variable& x);
  /// Exports the function as ONNX nodes.
  OnnxValue (*emit)(EmitContext& context, const OnnxValue& x);
  bool non_negative = false;  ///< outputs are never negative
};

/// Returns whether outputs of the function are never negative; false for
/// unknown names.
bool is_non_negative_function(std::string_view name);

/// Throws: ValueError with the nearest names.
const ActivationFunction& find_activation(const std::string& name);

/// Exports relu(x, options), for all layers based on it.
OnnxValue emit_relu(EmitContext& context, const OnnxValue& x,
                    const ReluOptions& options);

}  // namespace octet
