#include "pool_geometry.h"

#include <fmt/format.h>

#include <octet/runtime/error.h>

namespace octet {
namespace {

// Windows along an axis.
struct Windows {
  int64_t size, stride, dilation, before, count;
};

// Whether each window contains one of `size` pixels.
bool contains_pixels(int64_t size, const Windows& w) {
  for (int64_t i = 0; i < w.count; ++i) {
    const int64_t first = i * w.stride - w.before;
    const int64_t skipped =
        first < 0 ? (-first + w.dilation - 1) / w.dilation : 0;
    if (skipped >= w.size || first + skipped * w.dilation >= size) return false;
  }
  return true;
}

}  // namespace

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
  if (!kind.dilates && o.dilation != Size2{1, 1}) {
    throw UnsupportedError("unsupported_value", op,
                           fmt::format("dilation is not supported, got {}x{}",
                                       o.dilation.h, o.dilation.w));
  }
  if (window.h > kMaxWindow || window.w > kMaxWindow) {
    throw ValueError("out_of_range", op,
                     fmt::format("the window must be at most {}, got {}x{}",
                                 kMaxWindow, window.h, window.w));
  }
  if (o.dilation.h < 1 || o.dilation.w < 1) {
    throw ValueError("out_of_range", op,
                     fmt::format("dilation must be positive, got {}x{}",
                                 o.dilation.h, o.dilation.w));
  }
  for (const int64_t pad :
       {o.pads.top, o.pads.bottom, o.pads.left, o.pads.right}) {
    if (pad < 0 || pad > kMaxWindow) {
      throw ValueError(
          "out_of_range", op,
          fmt::format("pads must be in [0,{}], got {}", kMaxWindow, pad));
    }
  }
  if (window.h < 1 || window.w < 1) {
    throw ValueError("out_of_range", op,
                     fmt::format("the window must be positive, got {}x{}",
                                 window.h, window.w));
  }
  h = axes == 1 ? 1 : x[1];
  w = x[-2];
  c = x[-1];
  kh = window.h;
  kw = window.w;
  stride_h = o.strides.h;
  stride_w = o.strides.w;
  dilation_h = o.dilation.h;
  dilation_w = o.dilation.w;
  top = o.pads.top;
  left = o.pads.left;
  oh =
      window_positions(h, kh, stride_h, dilation_h, o.pads.top + o.pads.bottom);
  ow =
      window_positions(w, kw, stride_w, dilation_w, o.pads.left + o.pads.right);
  if (oh < 1 || ow < 1 || h < 1 || w < 1) {
    throw ShapeError("invalid_shape", op,
                     fmt::format("the window needs an image of at least {}x{} "
                                 "including padding, got {}",
                                 window.h, window.w, x.to_string()));
  }
  if (!contains_pixels(h, {kh, stride_h, dilation_h, top, oh}) ||
      !contains_pixels(w, {kw, stride_w, dilation_w, left, ow})) {
    throw ValueError(
        "out_of_range", op,
        fmt::format("no window may contain only padding, got pads "
                    "({},{},{},{}) for a window of {}x{}, dilation {}x{}",
                    o.pads.top, o.pads.bottom, o.pads.left, o.pads.right,
                    window.h, window.w, dilation_h, dilation_w));
  }
}

}  // namespace octet
