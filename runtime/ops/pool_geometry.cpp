#include "pool_geometry.h"

#include <fmt/format.h>

#include <octet/runtime/error.h>

namespace octet {

PoolGeometry::PoolGeometry(const PoolKind& kind, const Shape& x, Size2 window,
                           const WindowOptions& o)
    : axes(kind.axes) {
  const std::string_view op = kind.op;
  if (x.rank() != axes + 2) {
    throw ShapeError(
        "invalid_shape", op,
        fmt::format("needs {}, got {}",
                    axes == 1 ? "sequences [n,l,c]" : "images [n,h,w,c]",
                    x.to_string()));
  }
  if (o.dilation != Size2{1, 1}) {
    throw UnsupportedError("unsupported_value", op,
                           fmt::format("dilation is not supported, got {}x{}",
                                       o.dilation.h, o.dilation.w));
  }
  if (window.h > kMaxWindow || window.w > kMaxWindow) {
    throw ValueError("out_of_range", op,
                     fmt::format("the window must be at most {}, got {}x{}",
                                 kMaxWindow, window.h, window.w));
  }
  if (window.h < 1 || window.w < 1 || o.pads.top < 0 || o.pads.bottom < 0 ||
      o.pads.left < 0 || o.pads.right < 0) {
    throw ValueError("out_of_range", op,
                     fmt::format("the window must be positive and pads not "
                                 "negative, got a window of {}x{}",
                                 window.h, window.w));
  }
  if (o.pads.top >= window.h || o.pads.bottom >= window.h ||
      o.pads.left >= window.w || o.pads.right >= window.w) {
    throw ValueError("out_of_range", op,
                     fmt::format("pads must be smaller than the window {}x{}: "
                                 "no window may contain only padding",
                                 window.h, window.w));
  }
  h = axes == 1 ? 1 : x[1];
  w = x[-2];
  c = x[-1];
  kh = window.h;
  kw = window.w;
  stride_h = o.strides.h;
  stride_w = o.strides.w;
  top = o.pads.top;
  left = o.pads.left;
  oh = window_positions(h, kh, stride_h, 1, o.pads.top + o.pads.bottom);
  ow = window_positions(w, kw, stride_w, 1, o.pads.left + o.pads.right);
  if (oh < 1 || ow < 1 || h < 1 || w < 1) {
    throw ShapeError("invalid_shape", op,
                     fmt::format("the window needs an image of at least {}x{} "
                                 "including padding, got {}",
                                 window.h, window.w, x.to_string()));
  }
}

}  // namespace octet
