#pragma once

#include <octet/layers/graph.h>
#include <octet/layers/padding.h>

namespace octet {

/// Fields in order: pool_size, strides, padding, name
struct MaxPooling2DOptions {
  Size2 pool_size{2, 2};
  Size2 strides{0, 0};  ///< 0: the pool size
  Padding padding = Padding::valid;
  std::string name = "";
};

/// Largest value of each window, as in Keras.
/// Shapes: [n,h,w,c] -> [n,oh,ow,c].
/// Throws: ValueError for sizes < 1 or strides < 0; ShapeError when called on
/// anything but an image, or if the window does not fit.
class MaxPooling2D : public LayerHandle {
 public:
  explicit MaxPooling2D(const MaxPooling2DOptions& options = {});
};

}  // namespace octet
