// Importer: builds the layers of a .tflite file. Each operator has a row in
// converters.cpp.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <octet/layers/convolution.h>
#include <octet/layers/custom_layer.h>
#include <octet/layers/graph.h>
#include <octet/layers/model.h>
#include <octet/runtime/error.h>

#include "tflite/file/file.h"
#include "unique_names.h"

namespace octet::io::tflite {

/// A tensor with its quantization, for quantizers of the model.
struct FileQuant {
  std::vector<float> scales = {};  ///< empty: float
  int zero_point = 0;
  int axis = 0;  ///< of several scales
  bool int16 = false;
};

class Importer {
 public:
  explicit Importer(std::shared_ptr<const schema::ModelT> file);

  /// Converts all operators and returns the float model.
  /// Throws: UnsupportedError listing the operators without a layer.
  Model run();

  const schema::TensorT& info(int32_t tensor) const;
  bool is_constant(int32_t tensor) const;
  /// Returns the value of an activation.
  const SymbolicTensor& value(int32_t tensor) const;
  void set_value(int32_t tensor, SymbolicTensor value);
  /// Makes a tensor an alias of another, with its own quantization.
  void alias(int32_t tensor, int32_t of);

  /// Returns the real values of a constant; quantized ones are dequantized.
  Tensor constant(int32_t tensor) const;
  std::vector<int64_t> integers(int32_t tensor) const;
  FileQuant quant(int32_t tensor) const;

  /// Adds a layer on the inputs and returns its output; `tensor` is the file's
  /// output of the layer, for its name and quantizer; -1: none.
  SymbolicTensor add(std::string_view class_name, const Config& config,
                     const std::vector<SymbolicTensor>& inputs, int32_t tensor,
                     const std::vector<Tensor>& weights = {});
  /// Record and return padding by the lowest value, which the maximum pools
  /// that consume the tensor apply.
  void set_pads(int32_t tensor, const Pads& pads) { pads_[tensor] = pads; }
  Pads pads(int32_t tensor) const;
  /// Records the file's weight of a layer, for its quantizer. `scales` are in
  /// the order of the layer's channels.
  void set_weight_scales(const SymbolicTensor& layer, std::string parameter,
                         std::vector<float> scales);
  /// Adds the activation that is part of an operator. Returns `y` for none.
  SymbolicTensor activated(const SymbolicTensor& y,
                           schema::Activation activation, int32_t tensor);

  /// By layer: the tensor of its output; by layer and parameter: scales.
  const std::map<std::string, int32_t>& outputs() const { return outputs_; }
  const std::map<std::pair<std::string, std::string>, std::vector<float>>&
  weight_scales() const {
    return weight_scales_;
  }
  /// The tensor of each model input, behind QUANTIZE.
  const std::map<std::string, int32_t>& inputs() const { return inputs_; }
  /// Whether a layer has a quantized output, and whether one has int16.
  bool is_quantized() const;
  bool is_int16() const;
  /// Throws: UnsupportedError for uint8 values that operators compute with.
  void expect_no_uint8() const;
  /// Operators that consume a tensor. A model output counts as DEQUANTIZE.
  std::vector<schema::Op> consumers(int32_t tensor) const;
  /// Whether an operator whose scale the format prescribes produces a tensor.
  bool has_prescribed_scale(int32_t tensor) const;

 private:
  std::string layer_name(int32_t tensor);
  const schema::SubGraphT& graph() const { return *file_->subgraphs[0]; }

  std::shared_ptr<const schema::ModelT> file_;
  std::map<int32_t, SymbolicTensor> values_;
  std::map<int32_t, Pads> pads_;
  std::map<std::string, int32_t> outputs_, inputs_;
  std::map<std::pair<std::string, std::string>, std::vector<float>>
      weight_scales_;
  UniqueNames names_;
};

/// An operator during conversion to layers.
struct OperatorCall {
  Importer& importer;
  const schema::OperatorT& op;
  std::string name;  ///< for messages

  int32_t input(size_t i) const {
    if (i < op.inputs.size() && op.inputs[i] >= 0) return op.inputs[i];
    throw FormatError("invalid_file", name, "an input is missing");
  }
  bool has_input(size_t i) const {
    return i < op.inputs.size() && op.inputs[i] >= 0;
  }
  const SymbolicTensor& x(size_t i = 0) const {
    return importer.value(input(i));
  }
  int32_t output() const { return op.outputs.at(0); }
  template <class Options>
  const Options& options() const {
    const auto type = schema::BuiltinOptionsUnionTraits<Options>::enum_value;
    if (op.builtin_options.type == type && op.builtin_options.value) {
      return *static_cast<const Options*>(op.builtin_options.value);
    }
    throw FormatError("invalid_file", name, "its options are missing");
  }
  [[noreturn]] void refuse(const std::string& reason) const {
    throw UnsupportedError("unsupported_operator", name, reason);
  }
};

using Convert = void (*)(OperatorCall& call);
/// Returns the converter of an operator, or null.
Convert find_converter(schema::Op op);

void convert_conv(OperatorCall& call);
void convert_depthwise(OperatorCall& call);
void convert_transpose_conv(OperatorCall& call);
void convert_fully_connected(OperatorCall& call);
void convert_pool(OperatorCall& call);
void convert_mean(OperatorCall& call);
void convert_sum(OperatorCall& call);
void convert_add(OperatorCall& call);
void convert_sub(OperatorCall& call);
void convert_mul(OperatorCall& call);
void convert_maximum(OperatorCall& call);
void convert_minimum(OperatorCall& call);
void convert_matmul(OperatorCall& call);
void convert_concatenation(OperatorCall& call);
void convert_reshape(OperatorCall& call);
void convert_pad(OperatorCall& call);
void convert_padv2(OperatorCall& call);
void convert_split(OperatorCall& call);
void convert_gather(OperatorCall& call);
void convert_transpose(OperatorCall& call);
void convert_strided_slice(OperatorCall& call);
void convert_resize_nearest(OperatorCall& call);
void convert_resize_bilinear(OperatorCall& call);
void convert_relu(OperatorCall& call);
void convert_relu6(OperatorCall& call);
void convert_logistic(OperatorCall& call);
void convert_tanh(OperatorCall& call);
void convert_softmax(OperatorCall& call);
void convert_hard_swish(OperatorCall& call);
void convert_leaky_relu(OperatorCall& call);
void convert_prelu(OperatorCall& call);
void convert_quantize(OperatorCall& call);
void convert_dequantize(OperatorCall& call);

}  // namespace octet::io::tflite
