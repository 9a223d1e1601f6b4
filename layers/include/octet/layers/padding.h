#pragma once

#include <octet/runtime/ops.h>

namespace octet {

/// Keras' padding of windows.
enum class Padding {
  valid,  ///< none
  same,   ///< ceil(size / stride) positions; an odd cell goes to the end
};

/// The cells that `padding` adds around an image of h x w.
/// Source: TensorFlow 'SAME' padding, https://www.tensorflow.org/api_docs/
/// python/tf/nn#notes_on_padding_2
Pads pads_of(Padding padding, Size2 image, Size2 window, Size2 strides,
             Size2 dilation);

}  // namespace octet
