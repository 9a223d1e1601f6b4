// Cropping, padding and resizing of images, shared by the layers that combine
// them.
#pragma once

#include <octet/layers/custom_layer.h>
#include <octet/runtime/ops/layout.h>

namespace octet {

struct ImageFit {
  Pads crop{};
  Pads pad{};
  float fill = 0;  ///< padding value
  Size2 size{1, 1};
  ResizeOptions resize = {};
};

/// Returns the pixels to crop around the center of x [n,h,w,c] so that height
/// and width have the ratio of `size`, up to whole pixels.
/// Source: keras/src/utils/image_utils.py, smart_resize.
Pads crop_to_ratio(const Shape& x, Size2 size);
/// Returns the padding instead.
/// Source: keras/src/backend/jax/image.py, resize.
Pads pad_to_ratio(const Shape& x, Size2 size);

/// Returns ONNX' name, "half_pixel".
const char* name_of(PixelCoordinates coordinates);

Variable fitted(const Variable& x, const ImageFit& fit);
OnnxValue emit_fitted(EmitContext& context, const OnnxValue& x,
                      const ImageFit& fit);

}  // namespace octet
