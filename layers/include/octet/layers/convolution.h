// Convolutions.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include <octet/layers/graph.h>
#include <octet/runtime/ops/nn.h>

namespace octet {

// Padding and Padding1D: options of convolution and pooling layers.

/// Padding of 2-D windows: Keras' "valid" and "same", or explicit as Pads:
///
///   Conv2D({.filters = 8, .padding = Padding::same})  // or "same"
///   Conv2D({.filters = 8, .padding = 1})              // on each side
///   Conv2D({.filters = 8, .padding = Pads{0, 1, 0, 1}})
class Padding {
 public:
  static const Padding valid;  ///< none
  static const Padding same;   ///< ceil(size / stride) positions; an odd
                               ///< element is added at the end
  constexpr Padding() = default;
  /// Creates explicit padding of 0 or more pixels at each side, in the forms of
  /// Pads. Layers check the range.
  constexpr Padding(const Pads& pads) : kind_(Kind::given), given_(pads) {}
  /// Creates explicit padding from 1, 2 or 4 numbers, or from rows and columns.
  template <Count... N>
  requires(sizeof...(N) == 1 || sizeof...(N) == 2 ||
           sizeof...(N) == 4) constexpr Padding(N... cells)
      : Padding(Pads(cells...)) {}
  constexpr Padding(Pads::Ends rows, Pads::Ends columns)
      : Padding(Pads(rows, columns)) {}
  /// Parses "valid" or "same". Throws: ValueError for another name.
  Padding(const std::string& name);
  /// Parses a string literal, `.padding = "same"`. Throws: as above.
  template <size_t Size>
  Padding(const char (&name)[Size]) : Padding(std::string(name)) {}

  /// Returns the padding around an image.
  /// Source: TensorFlow, "Notes on padding",
  /// https://www.tensorflow.org/api_docs/python/tf/nn
  Pads pads(Size2 image, Size2 window, Size2 strides, Size2 dilation) const;

  /// Returns the explicit padding, or null.
  const Pads* given() const { return kind_ == Kind::given ? &given_ : nullptr; }

  bool operator==(const Padding&) const = default;

 private:
  enum class Kind { valid, same, given };
  constexpr explicit Padding(Kind kind) : kind_(kind) {}

  Kind kind_ = Kind::valid;
  Pads given_{};
};

/// Padding of windows over sequences: Keras' "valid", "same" and "causal", or
/// explicit:
///
///   Conv1D({.filters = 8, .padding = "causal"})
///   Conv1D({.filters = 8, .padding = {2, 0}})  // before and after
class Padding1D {
 public:
  static const Padding1D valid;   ///< none
  static const Padding1D same;    ///< as Padding::same
  static const Padding1D causal;  ///< all before the sequence, so that an
                                  ///< output depends on past inputs only
  constexpr Padding1D() = default;
  /// Creates explicit padding of 0 or more steps before and after the sequence,
  /// in the forms of Ends. Layers check the range.
  constexpr Padding1D(const Ends& ends) : kind_(Kind::given), given_(ends) {}
  /// Creates explicit padding from 1 or 2 numbers.
  template <Count... N>
  requires(sizeof...(N) == 1 ||
           sizeof...(N) == 2) constexpr Padding1D(N... cells)
      : Padding1D(Ends(cells...)) {}
  /// Parses "valid", "same" or "causal". Throws: ValueError for another name.
  Padding1D(const std::string& name);
  /// Parses a string literal, `.padding = "causal"`. Throws: as above.
  template <size_t Size>
  Padding1D(const char (&name)[Size]) : Padding1D(std::string(name)) {}

  /// Returns the padding around a sequence.
  /// Source: keras/src/layers/convolutional/base_conv.py of Keras 3,
  /// _compute_causal_padding(); 'same' as Padding::pads.
  Ends pads(int64_t length, int64_t window, int64_t stride,
            int64_t dilation) const;

  /// Returns the explicit padding, or null.
  const Ends* given() const { return kind_ == Kind::given ? &given_ : nullptr; }
  /// Returns Keras' name; empty for explicit padding.
  std::string name() const;

  bool operator==(const Padding1D&) const = default;

 private:
  enum class Kind { valid, same, causal, given };
  constexpr explicit Padding1D(Kind kind) : kind_(kind) {}

  Kind kind_ = Kind::valid;
  Ends given_{};
};

inline constexpr Padding Padding::valid{Padding::Kind::valid};
inline constexpr Padding Padding::same{Padding::Kind::same};
inline constexpr Padding1D Padding1D::valid{Padding1D::Kind::valid};
inline constexpr Padding1D Padding1D::same{Padding1D::Kind::same};
inline constexpr Padding1D Padding1D::causal{Padding1D::Kind::causal};

/// Options of Conv1D.
/// Fields in order: filters, kernel_size, strides, padding, dilation_rate,
/// groups, activation, use_bias, kernel_initializer, bias_initializer,
/// kernel_regularizer, bias_regularizer, name
struct Conv1DOptions {
  int64_t filters = 0;    ///< number of output channels, in [1, 2^31); required
  Size1 kernel_size = 3;  ///< length of the kernel, in [1, 2^20)
  Size1 strides = 1;      ///< step between windows, in [1, 2^20)
  /// "valid" (no padding), "same", "causal", or explicit steps in [0, 2^20).
  Padding1D padding = Padding1D::valid;
  Size1 dilation_rate = 1;  ///< kernel element spacing, in [1, 2^20)
  int64_t groups = 1;  ///< separate convolutions; divides channels and filters
  std::string activation = "linear";  ///< applied to the output; see Activation
  bool use_bias = true;  ///< adds a learned bias per output channel
  Initializer kernel_initializer = glorot_uniform();  ///< initial kernel values
  Initializer bias_initializer = zeros();             ///< initial bias values
  Regularizer kernel_regularizer = {};  ///< penalty on the kernel; {}: none
  Regularizer bias_regularizer = {};    ///< penalty on the bias; {}: none
  std::string name = "";  ///< unique in a model; empty: from the class name
};

/// 1-D convolution, as in Keras, with "valid", "same", "causal" or explicit
/// padding. Parameters: kernel [kernel_size,c/groups,filters], bias [filters].
/// Shapes: [n,l,c] -> [n,ol,filters].
/// Throws: ValueError for filters, sizes, strides, dilation or groups < 1, an
/// unknown activation, or groups that do not divide channels and filters;
/// ShapeError for inputs other than sequences or if the kernel does not fit.
/// Unlike Keras it accepts strides together with dilation, as Conv2D does.
class Conv1D : public LayerHandle {
 public:
  /// Checks the options. The first call creates the parameters.
  explicit Conv1D(const Conv1DOptions& options);
};

/// Options of Conv2D.
/// Fields in order: filters, kernel_size, strides, padding, dilation_rate,
/// groups, activation, use_bias, kernel_initializer, bias_initializer,
/// kernel_regularizer, bias_regularizer, name
struct Conv2DOptions {
  int64_t filters = 0;  ///< number of output channels, in [1, 2^31); required
  Size2 kernel_size{3, 3};  ///< height and width of the kernel, in [1, 2^20)
  Size2 strides{1, 1};      ///< vertical and horizontal step, in [1, 2^20)
  /// "valid" (no padding), "same", or explicit pixels in [0, 2^20).
  Padding padding = Padding::valid;
  Size2 dilation_rate{1, 1};  ///< kernel element spacing, in [1, 2^20)
  int64_t groups = 1;  ///< separate convolutions; divides channels and filters
  std::string activation = "linear";  ///< applied to the output; see Activation
  bool use_bias = true;  ///< adds a learned bias per output channel
  Initializer kernel_initializer = glorot_uniform();  ///< initial kernel values
  Initializer bias_initializer = zeros();             ///< initial bias values
  Regularizer kernel_regularizer = {};  ///< penalty on the kernel; {}: none
  Regularizer bias_regularizer = {};    ///< penalty on the bias; {}: none
  std::string name = "";  ///< unique in a model; empty: from the class name
};

/// 2-D convolution, as in Keras. Parameters: kernel [kh,kw,c/groups,filters],
/// bias [filters].
/// Shapes: [n,h,w,c] -> [n,oh,ow,filters].
/// Throws: ValueError for filters, sizes, strides, dilation or groups < 1, an
/// unknown activation, or groups that do not divide channels and filters;
/// ShapeError for inputs other than images or if the kernel does not fit.
class Conv2D : public LayerHandle {
 public:
  /// Checks the options. The first call creates the parameters.
  explicit Conv2D(const Conv2DOptions& options);
};

/// Options of Conv2DTranspose.
/// Fields in order: filters, kernel_size, strides, padding, dilation_rate,
/// output_padding, groups, activation, use_bias, kernel_initializer,
/// bias_initializer, kernel_regularizer, bias_regularizer, name
struct Conv2DTransposeOptions {
  int64_t filters = 0;  ///< number of output channels, in [1, 2^31); required
  Size2 kernel_size{3, 3};  ///< height and width of the kernel, in [1, 2^20)
  Size2 strides{1, 1};  ///< vertical and horizontal enlargement, in [1, 2^20)
  /// "valid" (no padding), "same", or explicit pixels in [0, 2^20).
  Padding padding = Padding::valid;
  Size2 dilation_rate{1, 1};  ///< kernel element spacing, in [1, 2^20)
  /// Rows and columns added after the last window, each in [0, stride). Unset
  /// selects the output sizes documented below.
  std::optional<Size2> output_padding = {};
  /// Number of independent parts into which channels and filters are split, as
  /// in PyTorch; divides both. Not in Keras.
  int64_t groups = 1;
  std::string activation = "linear";  ///< applied to the output; see Activation
  bool use_bias = true;  ///< adds a learned bias per output channel
  Initializer kernel_initializer = glorot_uniform();  ///< initial kernel values
  Initializer bias_initializer = zeros();             ///< initial bias values
  Regularizer kernel_regularizer = {};  ///< penalty on the kernel; {}: none
  Regularizer bias_regularizer = {};    ///< penalty on the bias; {}: none
  std::string name = "";  ///< unique in a model; empty: from the class name
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
/// do not divide channels and filters, an unknown activation, or an
/// output_padding outside [0, stride); ShapeError for inputs other than images
/// or if the padding leaves no output. Source: Keras,
/// backend/common/backend_utils.py, _get_output_shape_given_tf_padding.
class Conv2DTranspose : public LayerHandle {
 public:
  /// Checks the options. The first call creates the parameters.
  explicit Conv2DTranspose(const Conv2DTransposeOptions& options);
};

/// Options of DepthwiseConv1D.
/// Fields in order: kernel_size, strides, padding, depth_multiplier,
/// dilation_rate, activation, use_bias, depthwise_initializer,
/// bias_initializer, depthwise_regularizer, bias_regularizer, name
struct DepthwiseConv1DOptions {
  Size1 kernel_size = 3;  ///< length of the kernel, in [1, 2^20)
  Size1 strides = 1;      ///< step between windows, in [1, 2^20)
  /// "valid" (no padding), "same", "causal", or explicit steps in [0, 2^20).
  Padding1D padding = Padding1D::valid;
  int64_t depth_multiplier = 1;       ///< filters per channel, in [1, 2^31)
  Size1 dilation_rate = 1;            ///< kernel element spacing, in [1, 2^20)
  std::string activation = "linear";  ///< applied to the output; see Activation
  bool use_bias = true;  ///< adds a learned bias per output channel
  /// Initial values of depthwise_kernel.
  Initializer depthwise_initializer = glorot_uniform();
  Initializer bias_initializer = zeros();  ///< initial bias values
  /// Penalty on depthwise_kernel; {}: none.
  Regularizer depthwise_regularizer = {};
  Regularizer bias_regularizer = {};  ///< penalty on the bias; {}: none
  std::string name = "";  ///< unique in a model; empty: from the class name
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
  /// Checks the options. The first call creates the parameters.
  explicit DepthwiseConv1D(const DepthwiseConv1DOptions& options = {});
};

/// Options of DepthwiseConv2D.
/// Fields in order: kernel_size, strides, padding, depth_multiplier,
/// dilation_rate, activation, use_bias, depthwise_initializer,
/// bias_initializer, depthwise_regularizer, bias_regularizer, name
struct DepthwiseConv2DOptions {
  Size2 kernel_size{3, 3};  ///< height and width of the kernel, in [1, 2^20)
  Size2 strides{1, 1};      ///< vertical and horizontal step, in [1, 2^20)
  /// "valid" (no padding), "same", or explicit pixels in [0, 2^20).
  Padding padding = Padding::valid;
  int64_t depth_multiplier = 1;       ///< filters per channel, in [1, 2^31)
  Size2 dilation_rate{1, 1};          ///< kernel element spacing, in [1, 2^20)
  std::string activation = "linear";  ///< applied to the output; see Activation
  bool use_bias = true;  ///< adds a learned bias per output channel
  /// Initial values of depthwise_kernel.
  Initializer depthwise_initializer = glorot_uniform();
  Initializer bias_initializer = zeros();  ///< initial bias values
  /// Penalty on depthwise_kernel; {}: none.
  Regularizer depthwise_regularizer = {};
  Regularizer bias_regularizer = {};  ///< penalty on the bias; {}: none
  std::string name = "";  ///< unique in a model; empty: from the class name
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
  /// Checks the options. The first call creates the parameters.
  explicit DepthwiseConv2D(const DepthwiseConv2DOptions& options = {});
};

/// Options of SeparableConv1D.
/// Fields in order: filters, kernel_size, strides, padding, dilation_rate,
/// depth_multiplier, activation, use_bias, depthwise_initializer,
/// pointwise_initializer, bias_initializer, depthwise_regularizer,
/// pointwise_regularizer, bias_regularizer, name
struct SeparableConv1DOptions {
  int64_t filters = 0;    ///< number of output channels, in [1, 2^31); required
  Size1 kernel_size = 3;  ///< length of the kernel, in [1, 2^20)
  Size1 strides = 1;      ///< step between windows, in [1, 2^20)
  /// "valid" (no padding), "same", "causal", or explicit steps in [0, 2^20).
  Padding1D padding = Padding1D::valid;
  Size1 dilation_rate = 1;            ///< kernel element spacing, in [1, 2^20)
  int64_t depth_multiplier = 1;       ///< filters per channel, in [1, 2^31)
  std::string activation = "linear";  ///< applied to the output; see Activation
  bool use_bias = true;  ///< adds a learned bias per output channel
  /// Initial values of depthwise_kernel.
  Initializer depthwise_initializer = glorot_uniform();
  /// Initial values of pointwise_kernel.
  Initializer pointwise_initializer = glorot_uniform();
  Initializer bias_initializer = zeros();  ///< initial bias values
  /// Penalty on depthwise_kernel; {}: none.
  Regularizer depthwise_regularizer = {};
  /// Penalty on pointwise_kernel; {}: none.
  Regularizer pointwise_regularizer = {};
  Regularizer bias_regularizer = {};  ///< penalty on the bias; {}: none
  std::string name = "";  ///< unique in a model; empty: from the class name
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
  /// Checks the options. The first call creates the parameters.
  explicit SeparableConv1D(const SeparableConv1DOptions& options);
};

/// Options of SeparableConv2D.
/// Fields in order: filters, kernel_size, strides, padding, dilation_rate,
/// depth_multiplier, activation, use_bias, depthwise_initializer,
/// pointwise_initializer, bias_initializer, depthwise_regularizer,
/// pointwise_regularizer, bias_regularizer, name
struct SeparableConv2DOptions {
  int64_t filters = 0;  ///< number of output channels, in [1, 2^31); required
  Size2 kernel_size{3, 3};  ///< height and width of the kernel, in [1, 2^20)
  Size2 strides{1, 1};      ///< vertical and horizontal step, in [1, 2^20)
  /// "valid" (no padding), "same", or explicit pixels in [0, 2^20).
  Padding padding = Padding::valid;
  Size2 dilation_rate{1, 1};          ///< kernel element spacing, in [1, 2^20)
  int64_t depth_multiplier = 1;       ///< filters per channel, in [1, 2^31)
  std::string activation = "linear";  ///< applied to the output; see Activation
  bool use_bias = true;  ///< adds a learned bias per output channel
  /// Initial values of depthwise_kernel.
  Initializer depthwise_initializer = glorot_uniform();
  /// Initial values of pointwise_kernel.
  Initializer pointwise_initializer = glorot_uniform();
  Initializer bias_initializer = zeros();  ///< initial bias values
  /// Penalty on depthwise_kernel; {}: none.
  Regularizer depthwise_regularizer = {};
  /// Penalty on pointwise_kernel; {}: none.
  Regularizer pointwise_regularizer = {};
  Regularizer bias_regularizer = {};  ///< penalty on the bias; {}: none
  std::string name = "";  ///< unique in a model; empty: from the class name
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
  /// Checks the options. The first call creates the parameters.
  explicit SeparableConv2D(const SeparableConv2DOptions& options);
};

}  // namespace octet
