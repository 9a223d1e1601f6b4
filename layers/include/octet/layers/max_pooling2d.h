#pragma once

#include <octet/layers/graph.h>
#include <octet/layers/padding.h>

namespace octet {

/// Fields in order: pool_size, strides, padding, dilation_rate, name
struct MaxPooling2DOptions {
  Size2 pool_size{2, 2};
  Size2 strides{0, 0};  ///< 0 uses the pool size
  Padding padding = Padding::valid;
  Size2 dilation_rate = 1;  ///< distance of neighboring cells; not in Keras
  std::string name = "";
};

/// Returns the maximum of each window, as in Keras.
/// Shapes: [n,h,w,c] -> [n,oh,ow,c].
/// Throws: ValueError for sizes < 1 or strides < 0; ShapeError for inputs other
/// than images or if the window does not fit.
class MaxPooling2D : public LayerHandle {
 public:
  explicit MaxPooling2D(const MaxPooling2DOptions& options = {});
};

}  // namespace octet
