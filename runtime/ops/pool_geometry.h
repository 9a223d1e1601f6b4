// The sizes of a pooling over images [n,h,w,c].
#pragma once

#include <string_view>

#include <octet/runtime/ops/window.h>
#include <octet/runtime/shape.h>

namespace octet {

struct PoolGeometry {
  /// Every window holds at least one pixel of the image.
  /// Throws: ShapeError, ValueError, UnsupportedError (dilation) with `op` as
  /// subject.
  PoolGeometry(std::string_view op, const Shape& x, Size2 window,
               const WindowOptions& options);

  int64_t image_size() const { return h * w * c; }
  int64_t output_size() const { return oh * ow * c; }

  int64_t h, w, c, kh, kw, stride_h, stride_w, top, left, oh, ow;
};

}  // namespace octet
