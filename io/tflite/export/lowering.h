// Lowering: a call of a layer on its way to operators of a .tflite file. Each
// layer class has a row in lowerings.cpp.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <octet/layers/convolution.h>
#include <octet/layers/layer.h>
#include <octet/quant/wrapper.h>
#include <octet/runtime/config.h>
#include <octet/runtime/quantization.h>

#include "builder.h"

namespace octet::io::tflite {

/// A weight: float, or quantized values with scales.
struct Weight {
  Tensor values;  ///< f32 or i8, in Keras' layout
  /// One, or one per output channel; empty for float weights.
  std::vector<float> scales = {};
  int constant = -1;  ///< index of the tensor in the file, once added
};

/// Window of a convolution or pool over images; sequences have height 1.
struct FileWindow {
  Size2 size{1, 1}, strides{1, 1}, dilation{1, 1};
  Pads pads = {};
  bool same = false;  ///< whether `pads` is TensorFlow's SAME

  schema::Padding padding() const {
    return same ? schema::Padding::SAME : schema::Padding::VALID;
  }
};

/// Images of sequences, by tensor; reshapes are added once.
using ImageForms = std::unordered_map<int, Value>;

class Lowering {
 public:
  /// The call, without wrapper.
  const GraphNode& node;
  const Layer& layer;
  const quant::BaseQuantizeWrapper* wrapper;  ///< null: none
  Config config;
  /// Name of the output.
  std::string name;
  std::vector<Value> inputs = {};
  /// Parameters of the output; empty: float32.
  std::optional<Quant> quant = {};
  /// Activation of a following layer, part of the operator.
  schema::Activation fused = schema::Activation::NONE;
  FileBuilder& file;
  ImageForms& images;

  bool int8() const { return quant.has_value(); }
  const Shape& shape() const { return node.shape; }

  /// Activation of the operator: the layer's own, else the fused one.
  /// Throws: UnsupportedError for a function that is not part of operators.
  schema::Activation activation() const;
  /// Returns an option, or null.
  const Config* option(std::string_view key) const;

  /// Adds the output of an operator.
  Value add_output(const Shape& shape) const;
  Value add_output() const { return add_output(node.shape); }
  /// Adds an auxiliary value, named "layer/part".
  Value add_part(std::string_view part, const Shape& shape,
                 const std::optional<Quant>& parameters) const;
  std::string part_name(std::string_view part) const;

  /// Adds a RESHAPE.
  Value reshaped(const Value& x, const Shape& shape, std::string_view part);
  /// Returns [n,l,c] as [n,1,l,c], and back under the layer's name; images are
  /// unchanged.
  Value image_of(const Value& x);
  Value sequence_of(const Value& image, const Shape& shape);

  /// Returns a window for the image `x`.
  FileWindow window(const Shape& image, std::string_view size_key) const;
  /// Adds PAD for explicit padding, unless it is SAME. `fill`: quantized or
  /// float value of the pixels; empty: zero.
  Value padded(const Value& x, FileWindow& window, std::optional<float> fill);
  /// Adds PAD, or PADV2 with a fill, for the output `y`. `ends`: entries before
  /// and after each axis.
  void add_pad(const Value& x, std::span<const int32_t> ends,
               std::optional<float> fill, const Value& y);
};

/// Returns the quantization of an activation quantizer.
/// Throws: ValueError unless int8 or int16 represents it.
Quant quant_of(const quant::Quantizer& quantizer);

// Weights (weights.cpp).

/// Kernel and bias of a linear operator.
struct LinearWeights {
  Weight kernel;
  int bias = -1;  ///< index of the tensor
};
/// How the kernel of a layer is stored: `order` of the axes of Keras' kernel,
/// then the shape `stored`; slices of `axis` are output channels.
struct KernelLayout {
  std::vector<int> order = {};
  Shape stored = {};
  int axis = 0;
  /// Number of consecutive output channels with a scale: the multiplier of
  /// depthwise convolutions.
  int64_t channels_per_scale = 1;
};
/// Adds the kernel and the bias, zeros if the layer has none, for an operator
/// on `x`. In an INT8 operator the bias is int32, with int16 activations int64;
/// a kernel's scale is increased if the bias would overflow.
LinearWeights add_linear_weights(Lowering& call, const Value& x,
                                 std::string_view kernel,
                                 const KernelLayout& layout, int64_t outputs,
                                 std::string_view bias = "bias");

/// Adds the kernel `values`, [in Keras' layout], and a bias for an operator on
/// `x`; qparams: of an INT8 kernel.
LinearWeights add_weights(Lowering& call, const Value& x, std::string_view name,
                          const Tensor& values, std::span<const float> bias,
                          const KernelLayout& layout,
                          std::optional<QuantParams> qparams);

/// Adds QUANTIZE unless the value has the parameters.
Value requantized(Lowering& call, const Value& x, const Quant& quant,
                  std::string_view part);

/// Converts a call to operators and returns the output.
using Lower = Value (*)(Lowering& call);

/// How a layer class is converted.
struct LoweringRow {
  std::string_view class_name;
  Lower lower;
  /// Whether the operator's output has the parameters of its input, as the
  /// format requires.
  bool equal_scales = false;
};

/// Returns the row of a layer class, or null.
const LoweringRow* find_lowering(std::string_view class_name);

Value lower_conv(Lowering& call);
Value lower_depthwise_conv(Lowering& call);
Value lower_separable_conv(Lowering& call);
Value lower_conv_transpose(Lowering& call);
Value lower_dense(Lowering& call);
Value lower_batch_norm(Lowering& call);
Value lower_rescaling(Lowering& call);
Value lower_layer_scale(Lowering& call);
Value lower_pool(Lowering& call);
Value lower_global_pool(Lowering& call);
Value lower_reduce(Lowering& call);
Value lower_merge(Lowering& call);
Value lower_concatenate(Lowering& call);
Value lower_matmul(Lowering& call);
Value lower_activation(Lowering& call);
Value lower_softmax(Lowering& call);
Value lower_prelu(Lowering& call);
Value lower_reshape(Lowering& call);
Value lower_zero_padding(Lowering& call);
Value lower_pad(Lowering& call);
Value lower_cropping(Lowering& call);
Value lower_get_item(Lowering& call);
Value lower_gather(Lowering& call);
Value lower_permute(Lowering& call);
Value lower_upsampling(Lowering& call);
Value lower_identity(Lowering& call);

}  // namespace octet::io::tflite
