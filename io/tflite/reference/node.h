// Node: an operator during execution. Kernels return the output; shapes follow
// from the inputs, so that any batch size runs.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>

#include <octet/io/tflite.h>
#include <octet/runtime/error.h>
#include <octet/runtime/tensor.h>

#include "fixed_point.h"
#include "tflite/schema/schema.h"

namespace octet::io::tflite {

/// Scale, zero point and range of an activation.
struct NodeQuant {
  float scale = 0;  ///< 0: not quantized
  int32_t zero_point = 0;
  int32_t low = -128, high = 127;  ///< of the type
};

struct Node {
  const schema::OperatorT& op;
  std::string name;                           ///< for messages
  std::vector<const Tensor*> inputs;          ///< null: omitted
  std::vector<const schema::TensorT*> infos;  ///< of the inputs, null: omitted
  const schema::TensorT& output;
  size_t output_index = 0;  ///< of the operator's outputs
  TfliteRounding rounding;  ///< of this operator: once or twice
  TfliteRounding runtime;   ///< as requested by the caller

  const Tensor& input(size_t i) const {
    if (i < inputs.size() && inputs[i] != nullptr) return *inputs[i];
    throw FormatError("invalid_file", name, "an input is missing");
  }
  bool has_input(size_t i) const {
    return i < inputs.size() && inputs[i] != nullptr;
  }
  /// Whether the first input is int8 or int16.
  bool quantized() const { return is_integer(input(0)); }
  static bool is_integer(const Tensor& x) {
    return x.dtype() == DType::i8 || x.dtype() == DType::i16;
  }
  /// Return the parameters. Throws: FormatError for quantized values without.
  NodeQuant quant(size_t i) const {
    (void)input(i);
    return checked_quant(*infos[i]);
  }
  NodeQuant output_quant() const { return checked_quant(output); }
  /// Returns the scales of quantized weights. Throws: FormatError for none.
  std::span<const float> scales(size_t i) const {
    (void)quant(i);
    return infos[i]->quantization->scale;
  }
  /// Throws: UnsupportedError for int16 values.
  void expect_int8() const {
    if (input(0).dtype() != DType::i16) return;
    throw UnsupportedError("unsupported_type", name, "has no int16 kernel");
  }
  /// Throws: FormatError for an output of more than 2^28 elements.
  void expect_size(const Shape& shape) const {
    int64_t size = 1;
    for (const int64_t dim : shape.dims()) {
      if (dim >= 1 && dim <= kLargestOutput / size) {
        size *= dim;
        continue;
      }
      throw FormatError("invalid_file", name,
                        "invalid output shape " + shape.to_string());
    }
  }

  /// Returns the options. Throws: FormatError if they are of another operator.
  template <class Options>
  const Options& options() const {
    const auto type = schema::BuiltinOptionsUnionTraits<Options>::enum_value;
    if (op.builtin_options.type == type && op.builtin_options.value) {
      return *static_cast<const Options*>(op.builtin_options.value);
    }
    throw FormatError("invalid_file", name, "its options are missing");
  }

  static NodeQuant quant_of(const schema::TensorT& tensor) {
    const auto* q = tensor.quantization.get();
    if (q == nullptr || q->scale.empty()) return {};
    const bool wide = tensor.type == schema::TensorType::INT16;
    return {.scale = q->scale[0],
            .zero_point = q->zero_point.empty()
                              ? 0
                              : static_cast<int32_t>(q->zero_point[0]),
            .low = wide ? -32768 : -128,
            .high = wide ? 32767 : 127};
  }
  /// Throws: FormatError for scales whose ratio is out of range.
  FixedFactor factor(double m) const {
    if (m >= 0 && m < (1 << 30)) return fixed_factor(m);
    throw FormatError("invalid_file", name,
                      "the scales of inputs and output do not fit");
  }
  /// As factor(), for 64-bit sums.
  FixedFactor factor64(double m) const {
    return factor(m < (1 << kLargestShift64) ? m : -1);
  }
  int32_t scaled(int32_t x, const FixedFactor& f) const {
    if (rounding != TfliteRounding::once) return io::scaled(x, f);
    const int shift = 31 - f.shift;
    const int64_t round = int64_t{1} << (shift - 1);
    return static_cast<int32_t>((int64_t{x} * f.multiplier + round) >> shift);
  }
  int32_t scaled(int64_t x, const FixedFactor& f) const {
    return io::scaled(x, f);
  }

 private:
  static constexpr int64_t kLargestOutput = int64_t{1} << 28;

  NodeQuant checked_quant(const schema::TensorT& tensor) const {
    const NodeQuant result = quant_of(tensor);
    const bool wide = tensor.type == schema::TensorType::INT16;
    const bool integer = wide || tensor.type == schema::TensorType::INT8 ||
                         tensor.type == schema::TensorType::UINT8;
    if (integer && !(result.scale > 0)) {
      throw FormatError("invalid_file", name,
                        "a quantized tensor has no scale");
    }
    if (wide && result.zero_point != 0) {
      throw FormatError(
          "invalid_file", name,
          fmt::format("int16 values must have zero point 0, got {}",
                      result.zero_point));
    }
    return result;
  }
};

/// Calls body with a value of the type of a tensor's integers.
template <class Body>
decltype(auto) by_integer(const Tensor& x, const Body& body) {
  return x.dtype() == DType::i16 ? body(int16_t{}) : body(int8_t{});
}

/// Returns a quantized value in [low, high].
template <class T>
T clamped(int32_t value, int32_t low, int32_t high) {
  return static_cast<T>(std::clamp(value, low, high));
}

/// Bounds of a fused activation: quantized or real values.
struct IntBounds {
  int32_t low = -128, high = 127;
};
IntBounds int_bounds(schema::Activation activation, NodeQuant output);
struct FloatBounds {
  float low, high;
};
FloatBounds float_bounds(schema::Activation activation);

using Kernel = Tensor (*)(const Node& node);
/// Returns the kernel of an operator, or null.
Kernel find_kernel(schema::Op op);

Tensor run_conv(const Node& node);
Tensor run_depthwise_conv(const Node& node);
Tensor run_transpose_conv(const Node& node);
Tensor run_fully_connected(const Node& node);
Tensor run_batch_matmul(const Node& node);
Tensor run_average_pool(const Node& node);
Tensor run_max_pool(const Node& node);
Tensor run_mean(const Node& node);
Tensor run_sum(const Node& node);
Tensor run_add(const Node& node);
Tensor run_sub(const Node& node);
Tensor run_mul(const Node& node);
Tensor run_maximum(const Node& node);
Tensor run_minimum(const Node& node);
Tensor run_softmax(const Node& node);
Tensor run_logistic(const Node& node);
Tensor run_tanh(const Node& node);
Tensor run_hard_swish(const Node& node);
Tensor run_relu(const Node& node);
Tensor run_relu6(const Node& node);
Tensor run_leaky_relu(const Node& node);
Tensor run_prelu(const Node& node);
Tensor run_quantize(const Node& node);
Tensor run_dequantize(const Node& node);
Tensor run_reshape(const Node& node);
Tensor run_concatenation(const Node& node);
Tensor run_pad(const Node& node);
Tensor run_transpose(const Node& node);
Tensor run_strided_slice(const Node& node);
Tensor run_split(const Node& node);
Tensor run_gather(const Node& node);
Tensor run_resize_nearest(const Node& node);
Tensor run_resize_bilinear(const Node& node);

}  // namespace octet::io::tflite
