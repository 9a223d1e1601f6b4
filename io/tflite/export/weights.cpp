// Weights and biases of linear operators.
#include <algorithm>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include <octet/runtime/error.h>

#include "lowering.h"

namespace octet::io::tflite {
namespace {

// Largest magnitude of an int32 bias; the rest of the range is the products'.
// With int16 activations, the kernels' sums have 48 bits.
double largest_bias(const Quant& input) {
  return input.int16 ? 0x1p46 : 0x1p30;
}

const Parameter* find_parameter(const Layer& layer, std::string_view name) {
  for (const Parameter& p : layer.parameters()) {
    if (p.name == name) return &p;
  }
  return nullptr;
}

void check_finite(const Lowering& call, const Parameter& p) {
  for (const float v : p.variable.value().f32()) {
    if (std::isfinite(v)) continue;
    throw ValueError("not_finite", call.layer.describe(),
                     fmt::format("{} must be finite, got {}", p.name, v));
  }
}

// Float bias of each output channel; zeros if the layer has none.
std::vector<float> bias_values(const Lowering& call, std::string_view name,
                               int64_t outputs) {
  std::vector<float> values(static_cast<size_t>(outputs), 0.0f);
  if (name.empty()) return values;
  const Parameter* bias = find_parameter(call.layer, name);
  if (bias == nullptr) return values;
  check_finite(call, *bias);
  const auto from = bias->variable.value().f32();
  values.assign(from.begin(), from.end());
  return values;
}

// Index of the scale of an output channel.
size_t scale_of(const KernelLayout& layout, size_t scales, size_t channel) {
  return scales == 1 ? 0
                     : channel / static_cast<size_t>(layout.channels_per_scale);
}

// Increases scales for which the bias exceeds int32. Such weights are so small
// beside the bias that the coarser values do not change the output.
void fit_scales_to_bias(std::vector<float>& scales, std::span<const float> bias,
                        const Quant& input, const KernelLayout& layout) {
  for (size_t c = 0; c < bias.size(); ++c) {
    float& scale = scales[scale_of(layout, scales.size(), c)];
    const double least =
        std::abs(double{bias[c]}) / (double{input.scale} * largest_bias(input));
    if (scale < least) scale = static_cast<float>(least);
  }
}

// `scales`: one, or one per output channel.
template <class Integer>
int add_bias(Lowering& call, std::span<const float> bias, float input_scale,
             std::span<const float> scales) {
  std::vector<Integer> quantized;
  std::vector<float> products;
  for (const float scale : scales) products.push_back(input_scale * scale);
  for (size_t c = 0; c < bias.size(); ++c) {
    const double scale{products[products.size() == 1 ? 0 : c]};
    quantized.push_back(
        static_cast<Integer>(std::round(double{bias[c]} / scale)));
  }
  return call.file.add_constant(call.part_name("bias"),
                                std::span<const Integer>(quantized), products);
}

std::optional<QuantParams> weight_qparams(const Lowering& call,
                                          const Parameter& kernel) {
  if (call.wrapper == nullptr) return std::nullopt;
  const quant::PlacedQuantizer* placed =
      call.wrapper->find(quant::QdqSite::weight(kernel.name));
  if (placed == nullptr) return std::nullopt;
  return placed->quantizer->weight_qparams(kernel.variable,
                                           kernel.channel_axis);
}

Tensor stored(const Tensor& values, const KernelLayout& layout) {
  const Tensor moved =
      layout.order.empty() ? values : values.transposed(layout.order);
  return moved.reshaped(layout.stored);
}

}  // namespace

LinearWeights add_weights(Lowering& call, const Value& x, std::string_view name,
                          const Tensor& values, std::span<const float> bias,
                          const KernelLayout& layout,
                          std::optional<QuantParams> qparams) {
  LinearWeights result;
  Weight& kernel = result.kernel;
  const std::string full_name = call.part_name(name);
  if (!x.quant) {
    kernel.values = stored(values, layout);
    kernel.constant = call.file.add_constant(full_name, kernel.values);
    result.bias = call.file.add_constant(
        call.part_name("bias"), Tensor::of<float>({std::ssize(bias)}, bias));
    return result;
  }
  if (!qparams) {
    throw UnsupportedError(
        "not_quantized", call.layer.describe(),
        fmt::format("{} has no quantizer, but the input is INT8. Hint: "
                    "quantize_model with Policy::tflite",
                    name));
  }
  const auto scales = std::as_const(qparams->scale).f32();
  kernel.scales.assign(scales.begin(), scales.end());
  fit_scales_to_bias(kernel.scales, bias, *x.quant, layout);
  qparams->scale = Tensor::of<float>(qparams->scale.shape(),
                                     std::span<const float>(kernel.scales));
  kernel.values = stored(quantize(values, *qparams), layout);
  // One scale, or one per output channel.
  if (kernel.scales.size() > 1) {
    std::vector<float> repeated;
    for (const float scale : kernel.scales) {
      repeated.insert(repeated.end(),
                      static_cast<size_t>(layout.channels_per_scale), scale);
    }
    kernel.scales = std::move(repeated);
  }
  kernel.constant = call.file.add_constant(full_name, kernel.values,
                                           kernel.scales, layout.axis);
  const auto add = x.quant->int16 ? add_bias<int64_t> : add_bias<int32_t>;
  result.bias = add(call, bias, x.quant->scale, kernel.scales);
  return result;
}

LinearWeights add_linear_weights(Lowering& call, const Value& x,
                                 std::string_view kernel_name,
                                 const KernelLayout& layout, int64_t outputs,
                                 std::string_view bias_name) {
  const Parameter& kernel = call.layer.parameter(kernel_name);
  check_finite(call, kernel);
  return add_weights(call, x, kernel_name, kernel.variable.value(),
                     bias_values(call, bias_name, outputs), layout,
                     x.quant ? weight_qparams(call, kernel) : std::nullopt);
}

}  // namespace octet::io::tflite
