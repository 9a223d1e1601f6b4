// What pooling layers have in common: windows over images.
#pragma once

#include <octet/layers/padding.h>
#include <octet/runtime/shape.h>

namespace octet {

/// The strides, with the window's size for 0.
/// Throws: ValueError for windows below 1, strides below 0, or padding so wide
/// that a window would hold nothing else.
Size2 pool_strides(Size2 pool_size, Size2 strides, const Padding& padding);

WindowOptions pool_window(const Shape& x, Size2 pool_size, Size2 strides,
                          const Padding& padding);

/// Throws: ShapeError if the window does not fit.
Shape pooled_shape(const Shape& x, Size2 pool_size, Size2 strides,
                   const Padding& padding);

}  // namespace octet
