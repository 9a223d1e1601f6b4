#include "pool_geometry.h"

#include <fmt/format.h>

#include <octet/runtime/error.h>

namespace octet {

PoolGeometry::PoolGeometry(const PoolKind& kind, const Shape& x, Size2 window,
                           const WindowOptions& o)
    : axes(kind.axes) {
  const std::string_view op = kind.op;
  if (x.rank() != axes + 2) {
    throw ShapeError(fmt::format(
        "{}: expected {}, got {}", op,
        axes == 1 ? "sequences [n,l,c]" : "images [n,h,w,c]", x.to_string()));
  }
  if (o.dilation != Size2{1, 1}) {
    throw UnsupportedError(
        fmt::format("{}: expected a window without dilation, got {}x{}", op,
                    o.dilation.h, o.dilation.w));
  }
  if (window.h > kMaxWindow || window.w > kMaxWindow) {
    throw ValueError(fmt::format("{}: expected a window <= {}, got {}x{}", op,
                                 kMaxWindow, window.h, window.w));
  }
  if (window.h < 1 || window.w < 1 || o.pads.top < 0 || o.pads.bottom < 0 ||
      o.pads.left < 0 || o.pads.right < 0) {
    throw ValueError(
        fmt::format("{}: expected a window >= 1 and pads >= 0, got {}x{}", op,
                    window.h, window.w));
  }
  if (o.pads.top >= window.h || o.pads.bottom >= window.h ||
      o.pads.left >= window.w || o.pads.right >= window.w) {
    throw ValueError(fmt::format(
        "{}: expected padding smaller than the window {}x{}, so that no "
        "window holds padding only",
        op, window.h, window.w));
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
    throw ShapeError(fmt::format(
        "{}: expected an image of at least {}x{} with its padding, got {}", op,
        window.h, window.w, x.to_string()));
  }
}

}  // namespace octet
