#include "folding/folded_weights.h"

#include <cmath>
#include <utility>

#include <fmt/format.h>

#include <octet/layers/parameter.h>
#include <octet/runtime/error.h>

#include "graph/graph_index.h"

namespace octet::quant {
namespace {

const Parameter* find(const Layer& layer, std::string_view name) {
  for (const Parameter& p : layer.parameters()) {
    if (p.name == name) return &p;
  }
  return nullptr;
}

bool finite(std::span<const float> values) {
  for (const float v : values) {
    if (!std::isfinite(v)) return false;
  }
  return true;
}

// View of a kernel as [...][channels][inner], by output channel.
struct OutputChannels {
  size_t count = 1;
  size_t inner = 1;

  size_t of(size_t element) const { return element / inner % count; }
};

OutputChannels output_channels(const FoldedWeight& weight,
                               const Shape& kernel) {
  const auto size = [&](int first, int last) {
    return static_cast<size_t>(kernel.slice(first, last).size());
  };
  return {size(weight.first_axis, weight.last_axis),
          size(weight.last_axis, kernel.rank())};
}

struct Kernel {
  Tensor values;
  std::vector<float> scales;  // empty for float
  std::string problem;
};

Kernel fold_real(const Tensor& kernel, const OutputChannels& channels,
                 const std::vector<double>& factor) {
  Kernel result{Tensor(kernel.shape()), {}, {}};
  const auto to = result.values.f32();
  for (size_t i = 0; i < to.size(); ++i) {
    to[i] = static_cast<float>(kernel.f32()[i] * factor[channels.of(i)]);
  }
  return result;
}

Kernel fold_codes(const Parameter& parameter, const Quantizer& quantizer,
                  const OutputChannels& channels,
                  const std::vector<double>& factor) {
  const QuantParams qparams =
      quantizer.weight_qparams(parameter.variable, parameter.channel_axis);
  const Tensor& kernel = parameter.variable.value();
  const ElementScales scales(kernel.shape(), qparams);
  // A depthwise scale applies to all outputs of a channel.
  const size_t repeats =
      channels.count / static_cast<size_t>(qparams.scale.size());
  Kernel result{Tensor(kernel.shape()), {}, {}};
  std::vector<float> sign;
  for (size_t channel = 0; channel < channels.count; ++channel) {
    const float scale = static_cast<float>(
        std::as_const(qparams.scale).f32()[channel / repeats] *
        std::fabs(factor[channel]));
    // As scale_of_range() for an empty range.
    const bool all_zero =
        scale * static_cast<float>(qparams.high) < kSmallestRange;
    result.scales.push_back(all_zero ? 1.0f : scale);
    sign.push_back(all_zero ? 0.0f : factor[channel] < 0 ? -1.0f : 1.0f);
  }
  const auto to = result.values.f32();
  for (size_t i = 0; i < to.size(); ++i) {
    const size_t channel = channels.of(i);
    const float q = quantize(kernel.f32()[i], scales[i], qparams);
    const float code = sign[channel] * q + 0.0f;  // no negative zero
    if (code > static_cast<float>(qparams.high)) {
      result.problem = fmt::format(
          "quantized value {} in channel {} would become {}, outside [{},{}]",
          q, channel, code, qparams.low, qparams.high);
      return result;
    }
    to[i] = result.scales[channel] * code;
  }
  return result;
}

// Converts a depthwise convolution with a multiplier to a grouped convolution,
// which has a scale per output. The memory layout of the kernel is unchanged:
// [kh,kw,c,m] is [kh,kw,1,c*m] for c groups; for sequences likewise, without
// kh.
void make_grouped(FoldedLayer& layer, Tensor& kernel) {
  const Shape& k = kernel.shape();
  const Config& from = layer.config;
  Config config;
  const int64_t c = k[-2];
  const int64_t outputs = c * k[-1];
  config.set("filters", outputs).set("groups", c);
  for (const char* same :
       {"kernel_size", "strides", "padding", "dilation_rate", "activation",
        "use_bias", "bias_initializer", "bias_regularizer"}) {
    config.set(same, from.at(same));
  }
  config.set("kernel_initializer", from.at("depthwise_initializer"))
      .set("kernel_regularizer", from.at("depthwise_regularizer"));
  layer.config = std::move(config);
  const std::string depthwise =
      std::exchange(layer.class_name, k.rank() == 4 ? "Conv2D" : "Conv1D");
  layer.kernel = "kernel";
  layer.note = fmt::format("{} becomes {} with {} groups and {} output scales",
                           depthwise, layer.class_name, c, outputs);
  kernel = kernel.reshaped(k.with(-2, 1).with(-1, outputs));
}

}  // namespace

ChannelAffine affine_of(const Layer& batch_norm) {
  const Parameter* gamma = find(batch_norm, "gamma");
  const Parameter* beta = find(batch_norm, "beta");
  const Tensor& mean = batch_norm.parameter("moving_mean").variable.value();
  const Tensor& variance =
      batch_norm.parameter("moving_variance").variable.value();
  const double epsilon = batch_norm.config().at("epsilon").as_number();
  ChannelAffine result;
  for (size_t c = 0; c < mean.f32().size(); ++c) {
    double factor = 1 / std::sqrt(variance.f32()[c] + epsilon);
    if (gamma != nullptr) factor *= gamma->variable.value().f32()[c];
    const double shift =
        beta != nullptr ? double{beta->variable.value().f32()[c]} : 0.0;
    result.factor.push_back(factor);
    result.shift.push_back(shift - mean.f32()[c] * factor);
  }
  return result;
}

ChannelAffine in_sequence(const ChannelAffine& first,
                          const ChannelAffine& second) {
  ChannelAffine result = second;
  for (size_t c = 0; c < result.factor.size(); ++c) {
    result.shift[c] += second.factor[c] * first.shift[c];
    result.factor[c] *= first.factor[c];
  }
  return result;
}

FoldedLayer fold_into(const Layer& layer, const Quantizer* quantizer,
                      const ChannelAffine& affine) {
  const auto refused = [](std::string problem) {
    FoldedLayer result;
    result.problem = std::move(problem);
    return result;
  };
  for (size_t c = 0; c < affine.factor.size(); ++c) {
    if (!std::isfinite(affine.factor[c]) || !std::isfinite(affine.shift[c])) {
      return refused(
          fmt::format("its factor or shift in channel {} is not finite", c));
    }
  }
  for (const Parameter& p : layer.parameters()) {
    if (!finite(p.variable.value().f32())) {
      return refused(
          fmt::format("'{}' of '{}' is not finite", p.name, layer.name()));
    }
  }
  if (quantizer != nullptr && !quantizer->calibrated()) {
    return refused(
        fmt::format("quantizer '{}' is not calibrated", quantizer->name()));
  }

  FoldedLayer result;
  result.class_name = layer.class_name();
  const FoldedWeight weight = layer.facts().folded;
  result.kernel = weight.parameter;
  result.config = layer.config();
  result.config.set("use_bias", true);
  const Parameter* bias = find(layer, "bias");
  if (bias == nullptr) {
    // It had no bias to act on.
    result.config.set("bias_regularizer", to_config(Regularizer()));
  }

  const Parameter& kernel = layer.parameter(result.kernel);
  const OutputChannels channels =
      output_channels(weight, kernel.variable.shape());
  if (channels.count != affine.factor.size()) {
    return refused(
        fmt::format("the {} outputs are not on one axis of '{}' {} (transposed "
                    "convolution with groups)",
                    affine.factor.size(), kernel.name,
                    kernel.variable.shape().to_string()));
  }
  Kernel folded =
      quantizer == nullptr
          ? fold_real(kernel.variable.value(), channels, affine.factor)
          : fold_codes(kernel, *quantizer, channels, affine.factor);
  if (!folded.problem.empty()) return refused(std::move(folded.problem));
  Tensor shift({static_cast<int64_t>(channels.count)});
  for (size_t c = 0; c < channels.count; ++c) {
    const double b = bias != nullptr ? bias->variable.value().f32()[c] : 0.0;
    shift.f32()[c] = static_cast<float>(b * affine.factor[c] + affine.shift[c]);
  }
  if (!finite(folded.values.f32()) || !finite(shift.f32())) {
    return refused("folded weights or bias would not be finite");
  }

  if (quantizer != nullptr) {
    QuantizerConfig config = quantizer->config();
    if (!config.per_channel) {
      result.note = "the weight's scale becomes per channel";
    }
    config.per_channel = true;
    config.rule = ScaleRule::fixed;
    const int64_t multiplier = kernel.variable.shape()[-1];
    if (is_spatial_class(result.class_name, "DepthwiseConv") &&
        multiplier > 1) {
      make_grouped(result, folded.values);
    }
    result.quantizer = std::make_shared<Quantizer>(quantizer->name(), config);
    result.quantizer->set_scales(folded.scales);
    result.quantizer->set_enabled(quantizer->enabled());
  }
  for (const Parameter& p : layer.parameters()) {
    if (&p == &kernel) {
      result.parameters.push_back(folded.values);
    } else if (&p != bias) {
      result.parameters.push_back(p.variable.value());
    }
  }
  result.parameters.push_back(shift);
  return result;
}

}  // namespace octet::quant
