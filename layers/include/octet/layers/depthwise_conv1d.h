#pragma once

#include <octet/layers/graph.h>
#include <octet/layers/padding.h>

namespace octet {

/// Fields in order: kernel_size, strides, padding, depth_multiplier,
/// dilation_rate, activation, use_bias, depthwise_initializer,
/// bias_initializer, depthwise_regularizer, bias_regularizer, name
struct DepthwiseConv1DOptions {
  Size1 kernel_size = 3;
  Size1 strides = 1;
  Padding1D padding = Padding1D::valid;
  int64_t depth_multiplier = 1;  ///< filters per channel
  Size1 dilation_rate = 1;
  std::string activation = "linear";
  bool use_bias = true;
  Initializer depthwise_initializer = glorot_uniform();
  Initializer bias_initializer = zeros();
  Regularizer depthwise_regularizer = {};
  Regularizer bias_regularizer = {};
  std::string name = "";
};

/// Depthwise 1-D convolution, as in Keras: output c*depth_multiplier + i is
/// channel c convolved with its i-th filter. Padding may be "causal".
/// Parameters: depthwise_kernel [kernel_size,c,depth_multiplier], bias
/// [c*depth_multiplier].
/// Shapes: [n,l,c] -> [n,ol,c*depth_multiplier].
/// Throws: ValueError for sizes, strides, dilation or depth_multiplier < 1 or
/// an unknown activation; ShapeError for inputs other than sequences or if the
/// kernel does not fit.
class DepthwiseConv1D : public LayerHandle {
 public:
  explicit DepthwiseConv1D(const DepthwiseConv1DOptions& options = {});
};

}  // namespace octet
