// Sequences [n,l,c] as single-row images, the view of all kernels and readers
// (autograd::ImageShape).
#pragma once

#include <octet/runtime/ops/nn.h>

namespace octet {

inline WindowOptions as_image(const WindowOptions1D& o) {
  return {.strides = {1, o.stride},
          .dilation = {1, o.dilation},
          .pads = {Ends{}, o.pads}};
}

}  // namespace octet
