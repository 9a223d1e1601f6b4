// Samples in the axis order that each of two models takes. Internal to
// io/comparison.
#pragma once

#include <octet/io/compare.h>

namespace octet::io {

struct SamplePair {
  Tensor a, b;
};

/// `x` for both models. Without a `layout` it is in the order of `a`, else in
/// that of `b`, else in the other one of channels first and last, as its shape
/// tells. Throws: ShapeError for samples that fit in none.
SamplePair samples_for(const TracedModel& a, const TracedModel& b,
                       const Tensor& x, OnnxLayout layout);

/// Images [n,c,h,w] as [n,h,w,c], sequences likewise; and back.
Tensor to_channels_last(const Tensor& x);
Tensor to_channels_first(const Tensor& x);
inline bool has_channels(const Shape& shape) {
  return shape.rank() == 3 || shape.rank() == 4;
}

}  // namespace octet::io
