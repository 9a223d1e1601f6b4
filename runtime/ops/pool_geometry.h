// Geometry of pooling over images [n,h,w,c] or sequences [n,w,c].
#pragma once

#include <string_view>

#include <octet/runtime/ops/nn.h>
#include <octet/runtime/tensor.h>

namespace octet {

struct PoolKind {
  std::string_view op;  // for messages
  int axes = 2;         // 1: sequences, as single-row images
  bool dilates = false;
};

struct PoolGeometry {
  /// Every window contains at least one pixel of the image.
  /// Throws: ShapeError, ValueError; UnsupportedError for dilation unless
  /// `kind.dilates`.
  PoolGeometry(const PoolKind& kind, const Shape& x, Size2 window,
               const WindowOptions& options);

  /// Shape of the outputs of n images.
  Shape output(int64_t n) const {
    return axes == 1 ? Shape{n, ow, c} : Shape{n, oh, ow, c};
  }
  int64_t image_size() const { return h * w * c; }
  int64_t output_size() const { return oh * ow * c; }

  int64_t h, w, c, kh, kw, stride_h, stride_w, dilation_h, dilation_w;
  int64_t top, left, oh, ow;
  int axes;
};

}  // namespace octet
