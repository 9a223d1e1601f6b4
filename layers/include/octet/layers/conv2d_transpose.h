#pragma once

#include <optional>

#include <octet/layers/graph.h>
#include <octet/layers/padding.h>

namespace octet {

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

}  // namespace octet
