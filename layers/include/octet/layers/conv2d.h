#pragma once

#include <octet/layers/graph.h>
#include <octet/layers/padding.h>

namespace octet {

/// Fields in order: filters, kernel_size, strides, padding, dilation_rate,
/// groups, activation, use_bias, kernel_initializer, bias_initializer,
/// kernel_regularizer, bias_regularizer, name
struct Conv2DOptions {
  int64_t filters = 0;
  Size2 kernel_size{3, 3};
  Size2 strides{1, 1};
  Padding padding = Padding::valid;
  Size2 dilation_rate{1, 1};
  int64_t groups = 1;  ///< divides channels and filters
  std::string activation = "linear";
  bool use_bias = true;
  Initializer kernel_initializer = glorot_uniform();
  Initializer bias_initializer = zeros();
  Regularizer kernel_regularizer = {};
  Regularizer bias_regularizer = {};
  std::string name = "";
};

/// 2-D convolution, as in Keras. Parameters: kernel [kh,kw,c/groups,filters],
/// bias [filters].
/// Shapes: [n,h,w,c] -> [n,oh,ow,filters].
/// Throws: ValueError for filters, sizes, strides, dilation or groups < 1, an
/// unknown activation, or groups that do not divide the channels; ShapeError
/// for inputs other than images or if the kernel does not fit.
class Conv2D : public LayerHandle {
 public:
  explicit Conv2D(const Conv2DOptions& options);
};

}  // namespace octet
