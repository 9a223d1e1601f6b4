#pragma once

#include <octet/layers/graph.h>
#include <octet/layers/padding.h>

namespace octet {

/// Fields in order: filters, kernel_size, strides, padding, dilation_rate,
/// depth_multiplier, activation, use_bias, depthwise_initializer,
/// pointwise_initializer, bias_initializer, depthwise_regularizer,
/// pointwise_regularizer, bias_regularizer, name
struct SeparableConv2DOptions {
  int64_t filters = 0;
  Size2 kernel_size{3, 3};
  Size2 strides{1, 1};
  Padding padding = Padding::valid;
  Size2 dilation_rate{1, 1};
  int64_t depth_multiplier = 1;  ///< depthwise filters per channel
  std::string activation = "linear";
  bool use_bias = true;
  Initializer depthwise_initializer = glorot_uniform();
  Initializer pointwise_initializer = glorot_uniform();
  Initializer bias_initializer = zeros();
  Regularizer depthwise_regularizer = {};
  Regularizer pointwise_regularizer = {};
  Regularizer bias_regularizer = {};
  std::string name = "";
};

/// Depthwise convolution followed by a pointwise (1x1) convolution, as in
/// Keras. Parameters: depthwise_kernel [kh,kw,c,depth_multiplier],
/// pointwise_kernel [1,1,c*depth_multiplier,filters], bias [filters].
/// Shapes: [n,h,w,c] -> [n,oh,ow,filters].
/// Throws: ValueError for filters, sizes, strides, dilation or depth_multiplier
/// < 1 or an unknown activation; ShapeError for inputs other than images or if
/// the kernel does not fit.
class SeparableConv2D : public LayerHandle {
 public:
  explicit SeparableConv2D(const SeparableConv2DOptions& options);
};

}  // namespace octet
