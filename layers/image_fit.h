// How an image comes to another size: cut, padded, then resized; for the layers
// that are a form of it.
#pragma once

#include <octet/layers/onnx_builder.h>
#include <octet/runtime/ops/layout.h>

namespace octet {

struct ImageFit {
  Pads crop{};
  Pads pad{};
  float fill = 0;  ///< of the padding
  Size2 size{1, 1};
  ResizeOptions resize = {};
};

/// Cells to cut in the middle of x [n,h,w,c] so that height and width have the
/// ratio of `size`, as far as whole pixels allow.
/// Source: keras/src/utils/image_utils.py, smart_resize.
Pads crop_to_ratio(const Shape& x, Size2 size);
/// Cells to add around it instead. Source: keras/src/backend/jax/image.py,
/// resize.
Pads pad_to_ratio(const Shape& x, Size2 size);

/// By ONNX's name, "half_pixel".
const char* name_of(PixelCoordinates coordinates);

Variable fitted(const Variable& x, const ImageFit& fit);
OnnxValue emit_fitted(EmitContext& context, const OnnxValue& x,
                      const ImageFit& fit);

}  // namespace octet
