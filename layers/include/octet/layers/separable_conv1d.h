#pragma once

#include <octet/layers/graph.h>
#include <octet/layers/padding.h>

namespace octet {

/// Fields in order: filters, kernel_size, strides, padding, dilation_rate,
/// depth_multiplier, activation, use_bias, depthwise_initializer,
/// pointwise_initializer, bias_initializer, depthwise_regularizer,
/// pointwise_regularizer, bias_regularizer, name
struct SeparableConv1DOptions {
  int64_t filters = 0;
  Size1 kernel_size = 3;
  Size1 strides = 1;
  Padding1D padding = Padding1D::valid;
  Size1 dilation_rate = 1;
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

/// Depthwise convolution followed by a pointwise convolution (kernel size 1),
/// as in Keras. Padding may be "causal". Parameters: depthwise_kernel
/// [kernel_size,c,depth_multiplier], pointwise_kernel
/// [1,c*depth_multiplier,filters], bias [filters].
/// Shapes: [n,l,c] -> [n,ol,filters].
/// Throws: ValueError for filters, sizes, strides, dilation or depth_multiplier
/// < 1 or an unknown activation; ShapeError for inputs other than sequences or
/// if the kernel does not fit.
class SeparableConv1D : public LayerHandle {
 public:
  explicit SeparableConv1D(const SeparableConv1DOptions& options);
};

}  // namespace octet
