#pragma once

#include <octet/layers/graph.h>
#include <octet/layers/padding.h>

namespace octet {

/// Fields in order: pool_size, strides, padding, dilation_rate, name
struct MaxPooling1DOptions {
  Size1 pool_size = 2;
  Size1 strides = 0;  ///< 0 uses the pool size
  Padding1D padding = Padding1D::valid;
  Size1 dilation_rate = 1;  ///< distance of neighboring cells; not in Keras
  std::string name = "";
};

/// Returns the maximum of each window, as in Keras.
/// Shapes: [n,l,c] -> [n,ol,c].
/// Throws: ValueError for sizes < 1, strides < 0 or causal padding; ShapeError
/// for inputs other than sequences or if the window does not fit.
class MaxPooling1D : public LayerHandle {
 public:
  explicit MaxPooling1D(const MaxPooling1DOptions& options = {});
};

}  // namespace octet
