// Masks of Keras' values: mask_of() derives a mask from the graph, also if
// Keras loses it. Internal to io/keras.
#pragma once

#include <span>
#include <vector>

#include "keras/builder.h"

namespace octet::io {

/// Sets KerasValue::unmasked of the outputs whose mask Keras loses, and
/// other_masked_steps.
/// Throws: UnsupportedError if only Octet loses the mask, or if the layer
/// consumes other values.
void update_masks(const KerasLayer& layer, int keras_version,
                  const std::vector<BuiltArgument>& arguments,
                  std::vector<KerasValue>& outputs);

/// Whether the last of these inputs is a mask, of a layer that skips steps.
bool has_mask_input(const LayerSpec& step, size_t inputs);

/// Returns the mask of x if `given` computes the same, else `given`.
KerasValue shared_mask(const KerasValue& given, const KerasValue& x);

/// Whether Keras loses the mask of an input. Merged values then have no mask.
/// Throws: UnsupportedError if attention has masks for some operands only.
bool loses_mask(const LayerSpec& step, std::span<const KerasValue> inputs);

}  // namespace octet::io
