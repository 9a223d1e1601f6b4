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

bool is_masked(const KerasValue& x) {
  return !x.unmasked && mask_of(x.tensor).node != nullptr;
}

/// Whether a layer that keeps the mask, but does not use it, computes each step
/// by itself.
bool treats_steps_alike(std::string_view class_name) {
  return class_name != "GroupNormalization" && class_name != "Softmax" &&
         class_name != "UnitNormalization" && class_name != "Bidirectional" &&
         !is_recurrent(class_name);
}

/// Keras 3.5 and later ignore masked steps of each input of these layers.
/// Source: keras/src/layers/merging of Keras 3.
void update_merged_steps(const KerasLayer& layer,
                         const std::vector<BuiltArgument>& arguments,
                         std::vector<KerasValue>& outputs) {
  if (layer.class_name != "Multiply" && layer.class_name != "Maximum" &&
      layer.class_name != "Minimum") {
    return;
  }
  std::vector<SymbolicTensor> masks;
  for (const BuiltArgument& argument : arguments) {
    if (!argument.value) continue;
    masks.push_back(argument.value->unmasked ? SymbolicTensor()
                                             : mask_of(argument.value->tensor));
  }
  const auto node = [](const SymbolicTensor& mask) { return mask.node.get(); };
  const bool same =
      std::ranges::adjacent_find(masks, std::ranges::not_equal_to(), node) ==
      masks.end();
  if (same && (masks.empty() || masks[0].node == nullptr)) return;
  if (!same) {
    throw UnsupportedError(
        "unsupported_layer", text_of(layer),
        "inputs must all have the same mask or none, as Keras 3 ignores the "
        "masked steps of each input. Hint: mask after the layer");
  }
  for (KerasValue& y : outputs) y.other_masked_steps = true;
}

/// Throws: UnsupportedError for a layer that mixes masked steps, with values
/// other than Keras', into others.
void expect_masked_steps(const KerasLayer& layer, bool keeps_mask,
                         const std::vector<BuiltArgument>& arguments,
                         const std::vector<KerasValue>& outputs) {
  const bool consumed =
      is_built_as_operation(layer)
          ? std::ranges::any_of(arguments,
                                [](const BuiltArgument& each) {
                                  return each.value &&
                                         each.value->other_masked_steps;
                                })
          : std::ranges::any_of(outputs, &KerasValue::other_masked_steps);
  if (!consumed || (keeps_mask && treats_steps_alike(layer.class_name))) return;
  throw UnsupportedError(
      "unsupported_layer", text_of(layer),
      "must not consume masked steps after Multiply, Maximum or Minimum, in "
      "which Keras 3 has other values");
}

/// Whether two tensors are the same function of the same tensors.
bool computes_same(const SymbolicTensor& a, const SymbolicTensor& b) {
  if (a.node == b.node) return true;
  const GraphNode& x = *a.node;
  const GraphNode& y = *b.node;
  return !x.inputs.empty() && x.inputs.size() == y.inputs.size() &&
         x.layer->parameters().empty() &&
         x.layer->class_name() == y.layer->class_name() &&
         x.layer->config() == y.layer->config() &&
         std::ranges::equal(x.inputs, y.inputs, computes_same);
}

}  // namespace

bool has_mask_input(const LayerSpec& step, size_t inputs) {
  if (step.class_name == "GlobalAveragePooling1D") return inputs == 2;
  if (!is_recurrent(step.class_name)) return false;
  const bool initial = option(step.config, "initial_state") == Config(true);
  const size_t states = !initial ? 0 : step.class_name == "LSTM" ? 2 : 1;
  return inputs == states + 2;
}

KerasValue shared_mask(const KerasValue& given, const KerasValue& x) {
  const SymbolicTensor mask = mask_of(x.tensor);
  if (mask.node == nullptr || !computes_same(given.tensor, mask)) return given;
  KerasValue result = given;
  result.tensor = mask;
  return result;
}

void update_masks(const KerasLayer& layer, int keras_version,
                  const std::vector<BuiltArgument>& arguments,
                  std::vector<KerasValue>& outputs) {
  const bool creates =
      layer.class_name == "Embedding" || layer.class_name == "Masking";
  if (layer.graph != nullptr || creates) return;
  const bool keeps_mask =
      !is_built_as_operation(layer) && supports_masks(layer.class_name);
  expect_masked_steps(layer, keeps_mask, arguments, outputs);
  if (!keeps_mask) {
    for (KerasValue& y : outputs) {
      y.unmasked = true;
      y.unused_mask = false;
    }
    return;
  }
  if (keras_version >= 3) update_merged_steps(layer, arguments, outputs);
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

bool loses_mask(const LayerSpec& step, std::span<const KerasValue> inputs) {
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
  // Keras passes on a mask that is an argument.
  if (has_mask_input(step, inputs.size())) return false;
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
