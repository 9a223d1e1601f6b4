#pragma once

#include <octet/layers/graph.h>
#include <octet/layers/padding.h>

namespace octet {

/// Fields in order: kernel_size, strides, padding, depth_multiplier,
/// dilation_rate, activation, use_bias, depthwise_initializer,
/// bias_initializer, depthwise_regularizer, bias_regularizer, name
struct DepthwiseConv2DOptions {
  Size2 kernel_size{3, 3};
  Size2 strides{1, 1};
  Padding padding = Padding::valid;
  int64_t depth_multiplier = 1;  ///< filters per channel
  Size2 dilation_rate{1, 1};
  std::string activation = "linear";
  bool use_bias = true;
  Initializer depthwise_initializer = glorot_uniform();
  Initializer bias_initializer = zeros();
  Regularizer depthwise_regularizer = {};
  Regularizer bias_regularizer = {};
  std::string name = "";
};

/// Depthwise 2-D convolution, as in Keras: output c*depth_multiplier + i is
/// channel c convolved with its i-th filter. Parameters: depthwise_kernel
/// [kh,kw,c,depth_multiplier], bias [c*depth_multiplier].
/// Shapes: [n,h,w,c] -> [n,oh,ow,c*depth_multiplier].
/// Throws: ValueError for sizes, strides, dilation or depth_multiplier < 1 or
/// an unknown activation; ShapeError for inputs other than images or if the
/// kernel does not fit.
class DepthwiseConv2D : public LayerHandle {
 public:
  explicit DepthwiseConv2D(const DepthwiseConv2DOptions& options = {});
};

}  // namespace octet
