// Layers that return their input unchanged if its shape stays the same.
#pragma once

#include <cstdint>
#include <span>

#include <octet/layers/layer.h>

namespace octet {

/// Returns `always` if the output of the layer has the shape of its input.
inline Identity identity_if_same_shape(const Layer& layer,
                                       std::span<const Shape> inputs) {
  return !inputs.empty() && layer.output_shape(inputs) == inputs[0]
             ? Identity::always
             : Identity::never;
}

/// Returns `always` for images of the given size.
inline Identity identity_if_same_size(std::span<const Shape> inputs,
                                      int64_t height, int64_t width) {
  return !inputs.empty() && inputs[0][1] == height && inputs[0][2] == width
             ? Identity::always
             : Identity::never;
}

}  // namespace octet
