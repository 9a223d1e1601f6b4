// Keras' activation functions by name: what the option `activation` of a
// layer and the layer Activation look up.
#pragma once

#include <string>
#include <string_view>

#include <octet/layers/onnx_builder.h>
#include <octet/runtime/ops/activation.h>
#include <octet/runtime/variable.h>

namespace octet {

struct ActivationFunction {
  std::string_view name;
  Variable (*apply)(const Variable& x);
  /// Writes the function as ONNX nodes.
  OnnxValue (*emit)(EmitContext& context, const OnnxValue& x);
  bool non_negative = false;  ///< gives no negative value
};

/// False for names of no function.
bool is_non_negative_function(std::string_view name);

/// Throws: ValueError naming the nearest names.
const ActivationFunction& find_activation(const std::string& name);

/// relu(x, options) as ONNX nodes, for all layers that are a form of it.
OnnxValue emit_relu(EmitContext& context, const OnnxValue& x,
                    const ReluOptions& options);

}  // namespace octet
