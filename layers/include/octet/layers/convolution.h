// Convolutions.
#pragma once

#include <optional>

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

/// Fields in order: filters, kernel_size, strides, padding, dilation_rate,
/// output_padding, groups, activation, use_bias, kernel_initializer,
/// bias_initializer, kernel_regularizer, bias_regularizer, name
struct Conv2DTransposeOptions {
  int64_t filters = 0;
  Size2 kernel_size{3, 3};
  Size2 strides{1, 1};
  Padding padding = Padding::valid;
  Size2 dilation_rate{1, 1};
  /// Rows and columns added after the last window, each in [0, stride). Unset
  /// selects the output sizes documented below.
  std::optional<Size2> output_padding = {};
  /// Channels and filters are split into that many independent parts, as in
  /// PyTorch. Not in Keras.
  int64_t groups = 1;
  std::string activation = "linear";
  bool use_bias = true;
  Initializer kernel_initializer = glorot_uniform();
  Initializer bias_initializer = zeros();
  Regularizer kernel_regularizer = {};
  Regularizer bias_regularizer = {};
  std::string name = "";
};

/// Transposed 2-D convolution, as in Keras; strides enlarge the image.
/// Parameters: kernel [kh,kw,filters/groups,c], bias [filters].
/// Shapes: [n,h,w,c] -> [n,oh,ow,filters]. With kernel' = (kernel - 1) *
/// dilation + 1, oh is
///   h * stride                                      for padding 'same'
///   (h-1) * stride + max(kernel', stride)           for padding 'valid'
///   (h-1) * stride + kernel' % 2 + output_padding   for 'same', if set
///   (h-1) * stride + kernel' + output_padding       for 'valid', if set
/// For explicit padding, as for 'valid' minus the padding.
/// Throws: ValueError for filters, sizes, strides or dilation < 1, groups that
/// do not divide filters and channels, an unknown activation, or an
/// output_padding outside [0, stride); ShapeError for inputs other than images
/// or if the padding leaves no output. Source: Keras,
/// backend/common/backend_utils.py, _get_output_shape_given_tf_padding.
class Conv2DTranspose : public LayerHandle {
 public:
  explicit Conv2DTranspose(const Conv2DTransposeOptions& options);
};

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
