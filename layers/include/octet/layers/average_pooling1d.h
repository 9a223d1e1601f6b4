#pragma once

#include <octet/layers/graph.h>
#include <octet/layers/padding.h>

namespace octet {

/// Fields in order: pool_size, strides, padding, name
struct AveragePooling1DOptions {
  Size1 pool_size = 2;
  Size1 strides = 0;  ///< 0 uses the pool size
  Padding1D padding = Padding1D::valid;
  std::string name = "";
};

/// Averages each window, excluding padding, as in Keras.
/// Shapes: [n,l,c] -> [n,ol,c].
/// Throws: ValueError for sizes < 1, strides < 0 or causal padding; ShapeError
/// for inputs other than sequences or if the window does not fit.
class AveragePooling1D : public LayerHandle {
 public:
  explicit AveragePooling1D(const AveragePooling1DOptions& options = {});
};

}  // namespace octet
