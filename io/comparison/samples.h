// Samples in the axis orders of two models. Internal to io/comparison.
#pragma once

#include <vector>

#include <octet/io/compare.h>

namespace octet::io {

struct SamplePair {
  Tensor a, b;
};

/// Returns `x` for both models. Without a `layout`, its axis order is inferred
/// from its shape: that of `a`, else of `b`, else the other of channels first
/// and last.
/// Throws: ShapeError if no order fits.
SamplePair samples_for(const TracedModel& a, const TracedModel& b,
                       const Tensor& x, OnnxLayout layout);

/// Returns the axes of a layout, as OnnxPort::axes.
std::vector<int> axes_of(OnnxLayout layout, int rank);

/// Transposes images [n,c,h,w] to [n,h,w,c], and sequences likewise.
Tensor to_channels_last(const Tensor& x);
Tensor to_channels_first(const Tensor& x);
inline bool has_channels(const Shape& shape) {
  return shape.rank() == 3 || shape.rank() == 4;
}

}  // namespace octet::io
