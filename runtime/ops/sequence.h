// Sequences [n,l,c] as images of one row, which is how all kernels and readers
// see them (autograd::ImageShape).
#pragma once

#include <octet/runtime/ops/window.h>

namespace octet {

inline WindowOptions as_image(const WindowOptions1D& o) {
  return {.strides = {1, o.stride},
          .dilation = {1, o.dilation},
          .pads = {Ends{}, o.pads}};
}

}  // namespace octet
