#include "keras/masks.h"

#include <algorithm>
#include <string_view>

#include <octet/runtime/error.h>

#include "keras/operation.h"
#include "keras/recurrent.h"

namespace octet::io {
namespace {

/// Returns whether the output has the mask of the input in Keras.
/// Source: supports_masking in keras/src/layers of Keras 3.
bool supports_masks(std::string_view class_name) {
  static constexpr std::string_view kClasses[] = {
      "Activation",
      "ActivityRegularization",
      "Add",
      "AlphaDropout",
      "Average",
      "BatchNormalization",
      "Bidirectional",
      "Concatenate",
      "Dense",
      "Dropout",
      "ELU",
      "GaussianDropout",
      "GaussianNoise",
      "GroupNormalization",
      "GRU",
      "Identity",
      "LSTM",
      "LayerNormalization",
      "LeakyReLU",
      "Maximum",
      "Minimum",
      "MultiHeadAttention",
      "Multiply",
      "Normalization",
      "PReLU",
      "ReLU",
      "Rescaling",
      "SimpleRNN",
      "Softmax",
      "SpatialDropout1D",
      "Subtract",
      "TimeDistributed",
      "UnitNormalization",
  };
  return std::ranges::find(kClasses, class_name) != std::end(kClasses);
}

}  // namespace

void update_masks(const KerasLayer& layer,
                  const std::vector<BuiltArgument>& arguments,
                  std::vector<KerasValue>& outputs) {
  const bool creates =
      layer.class_name == "Embedding" || layer.class_name == "Masking";
  if (layer.graph != nullptr || creates) return;
  if (is_built_as_operation(layer) || !supports_masks(layer.class_name)) {
    for (KerasValue& y : outputs) {
      y.unmasked = true;
      y.unused_mask = false;
    }
    return;
  }
  const auto is_masked = [](const KerasValue& x) {
    return !x.unmasked && mask_of(x.tensor).node != nullptr;
  };
  const Shape shape = outputs[0].tensor.shape();
  const bool lost = std::ranges::any_of(arguments, [&](const auto& argument) {
    return argument.value && argument.name.empty() &&
           is_masked(*argument.value) && shape.rank() > 2 &&
           shape[1] == argument.value->tensor.shape()[1];
  });
  const bool merged = std::ranges::any_of(arguments, [](const auto& argument) {
    return argument.value && argument.value->unmasked;
  });
  if (!lost || merged || outputs[0].unmasked || is_masked(outputs[0])) return;
  throw UnsupportedError("unsupported_layer", text_of(layer),
                         "does not propagate the mask of its inputs, as Keras "
                         "would");
}

bool all_unmasked(const LayerSpec& step, std::span<const KerasValue> inputs) {
  const bool skips_steps = is_recurrent(step.class_name) ||
                           step.class_name == "GlobalAveragePooling1D" ||
                           step.class_name == "ScaledDotProductAttention";
  const bool explicit_mask =
      inputs.back().tensor.shape().rank() == 2 && inputs.size() > 1;
  if (skips_steps && !explicit_mask &&
      std::ranges::any_of(inputs, &KerasValue::unused_mask)) {
    throw UnsupportedError(
        "unsupported_model", "mask",
        "cannot be propagated from a recurrent layer with initial states");
  }
  if (std::ranges::none_of(inputs, &KerasValue::unmasked)) return false;
  for (const KerasValue& x : inputs) {
    if (step.class_name != "ScaledDotProductAttention" || x.unmasked ||
        mask_of(x.tensor).node == nullptr) {
      continue;
    }
    throw UnsupportedError("unsupported_model", "mask",
                           "must be that of all operands of the attention, or "
                           "of none");
  }
  return true;
}

}  // namespace octet::io
