#pragma once

#include <octet/layers/graph.h>
#include <octet/layers/padding.h>

namespace octet {

/// Fields in order: filters, kernel_size, strides, padding, dilation_rate,
/// groups, activation, use_bias, kernel_initializer, bias_initializer,
/// kernel_regularizer, bias_regularizer, name
struct Conv1DOptions {
  int64_t filters = 0;
  Size1 kernel_size = 3;
  Size1 strides = 1;
  Padding1D padding = Padding1D::valid;
  Size1 dilation_rate = 1;
  int64_t groups = 1;  ///< divides channels and filters
  std::string activation = "linear";
  bool use_bias = true;
  Initializer kernel_initializer = glorot_uniform();
  Initializer bias_initializer = zeros();
  Regularizer kernel_regularizer = {};
  Regularizer bias_regularizer = {};
  std::string name = "";
};

/// 1-D convolution, as in Keras, with "valid", "same", "causal" or explicit
/// padding. Parameters: kernel [kernel_size,c/groups,filters], bias [filters].
/// Shapes: [n,l,c] -> [n,ol,filters].
/// Throws: ValueError for filters, sizes, strides, dilation or groups < 1, an
/// unknown activation, or groups that do not divide the channels; ShapeError
/// for inputs other than sequences or if the kernel does not fit. Unlike Keras
/// it accepts strides together with dilation, as Conv2D does.
class Conv1D : public LayerHandle {
 public:
  explicit Conv1D(const Conv1DOptions& options);
};

}  // namespace octet
