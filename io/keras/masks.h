// Masks of Keras' values: mask_of() derives a mask from the graph, also if
// Keras loses it. Internal to io/keras.
#pragma once

#include <span>
#include <vector>

#include "keras/builder.h"

namespace octet::io {

/// Sets KerasValue::unmasked of the outputs whose mask Keras loses.
/// Throws: UnsupportedError if only Octet loses it.
void update_masks(const KerasLayer& layer,
                  const std::vector<BuiltArgument>& arguments,
                  std::vector<KerasValue>& outputs);

/// Whether Keras lost the mask of an input. Merged values then have no mask.
/// Throws: UnsupportedError if attention has masks for some operands only.
bool all_unmasked(const LayerSpec& step, std::span<const KerasValue> inputs);

}  // namespace octet::io
