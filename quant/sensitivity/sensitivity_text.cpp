// Text of Sensitivity.
#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include <octet/quant/sensitivity.h>
#include <octet/runtime/detail/text_table.h>
#include <octet/runtime/error.h>

#include "calibration/signal_noise.h"
#include "sensitivity/channels.h"

namespace octet::quant {
namespace {

// Share of clipped values above which clipping dominates the loss.
constexpr double kMuchClipped = 1e-3;

// The weights or the activations of a layer, quantized alone.
struct QuantizedPart {
  const LayerSensitivity* layer = nullptr;
  bool weights = false;
  double sqnr = std::numeric_limits<double>::infinity();
};

std::vector<QuantizedPart> worst_first(const Sensitivity& s) {
  std::vector<QuantizedPart> parts;
  for (const LayerSensitivity& layer : s.layers) {
    if (layer.weights) parts.push_back({&layer, true, *layer.weights});
    if (layer.activations) parts.push_back({&layer, false, *layer.activations});
  }
  std::ranges::stable_sort(parts, {}, &QuantizedPart::sqnr);
  return parts;
}

const TensorSensitivity* find_tensor(const Sensitivity& s,
                                     const std::string& name) {
  const auto found =
      std::ranges::find(s.tensors, name, &TensorSensitivity::quantizer);
  return found == s.tensors.end() ? nullptr : &*found;
}

std::string score_text(const Sensitivity& s, std::optional<double> score) {
  if (!score) return "";
  return s.score_name == "accuracy" ? fmt::format("{:.2f} %", 100 * *score)
                                    : fmt::format("{:.4f}", *score);
}

constexpr const char* kRise =
    "; loss: increase of the cross-entropy by rounding the weights, from "
    "gradients";

}  // namespace

std::string Sensitivity::blame() const {
  const std::vector<QuantizedPart> parts = worst_first(*this);
  if (parts.empty()) return "Nothing is quantized.\n";
  const QuantizedPart& worst = parts.front();
  const TensorSensitivity* tensor =
      worst.weights ? nullptr : find_tensor(*this, worst.layer->tensor);
  const bool clips = tensor != nullptr && tensor->clipped > kMuchClipped;
  std::string text =
      worst.weights
          ? fmt::format("Largest loss: weights of '{}'", worst.layer->layer)
          : fmt::format("Largest loss: inputs of '{}'", worst.layer->layer);
  if (clips) {
    text += fmt::format(" ({:.2g} % of the values of '{}' are clipped)",
                        100 * tensor->clipped, tensor->quantizer);
  }
  const auto& channel = worst.weights ? worst.layer->weight_channel
                        : tensor      ? tensor->worst_channel
                                      : std::nullopt;
  const bool spread = !clips && is_lost(channel);
  if (spread) {
    text += fmt::format(
        " (channel {} has {}: its largest magnitude is {:.3g}, "
        "the tensor's {:.3g})",
        channel->channel, decibels_text(channel->sqnr), channel->range,
        channel->tensor_range);
  }
  text +=
      fmt::format("; SQNR {} if quantized alone", decibels_text(worst.sqnr));
  // Consumers of a tensor have the same loss.
  const auto next = std::ranges::find_if(parts, [&](const QuantizedPart& part) {
    return part.weights != worst.weights ||
           (part.layer != worst.layer &&
            (worst.weights || part.layer->tensor != worst.layer->tensor));
  });
  if (next != parts.end()) {
    text += fmt::format(", at least {} for any other part",
                        decibels_text(next->sqnr));
  }
  text += fmt::format(", {} for the whole model.\n", decibels_text(all.sqnr));
  const char* const hint =
      spread && worst.layer->equalizable
          ? "equalize the channels before quantization: --equalize, or "
            "equalize() of the folded float model"
      : clips ? "a wider range: calibrate by the largest magnitudes (max)"
      : worst.weights ? "more bits, mse scales, or second-order rounding"
                      : "more bits, or leave the layer in float";
  return fmt::format("{}Hint: {}\n", text, hint);
}

std::vector<LayerSensitivity> Sensitivity::by_sqnr() const {
  std::vector<LayerSensitivity> sorted = layers;
  std::ranges::stable_sort(sorted, {}, [](const LayerSensitivity& layer) {
    return layer.alone.sqnr;
  });
  return sorted;
}

std::string Sensitivity::to_string() const {
  std::string text = blame();
  if (float_score) {
    text += fmt::format("{}: float {}, quantized {}\n", score_name,
                        score_text(*this, float_score),
                        score_text(*this, all.score));
  }
  const auto decibels = [](std::optional<double> value) {
    return value ? decibels_text(*value) : "-";
  };
  const bool rise = std::ranges::any_of(
      layers, [](const auto& layer) { return layer.loss_rise.has_value(); });
  TextTable by_layer({Align::left, Align::right, Align::right, Align::right,
                      Align::right, Align::right, Align::right, Align::right});
  by_layer.add_row({"layer", "alone", "weights", "inputs", score_name,
                    "all others", score_name, rise ? "loss" : ""});
  by_layer.add_rule();
  for (const LayerSensitivity& layer : by_sqnr()) {
    by_layer.add_row(
        {layer.layer, decibels(layer.alone.sqnr), decibels(layer.weights),
         decibels(layer.activations), score_text(*this, layer.alone.score),
         decibels(layer.without.sqnr), score_text(*this, layer.without.score),
         layer.loss_rise ? fmt::format("+{:.2g}", *layer.loss_rise) : ""});
  }
  TextTable by_tensor({Align::left, Align::right, Align::right});
  by_tensor.add_row({"tensor", "SQNR", "clipped"});
  by_tensor.add_rule();
  std::vector<const TensorSensitivity*> worst;
  for (const TensorSensitivity& tensor : tensors) worst.push_back(&tensor);
  std::ranges::stable_sort(
      worst, {}, [](const TensorSensitivity* tensor) { return tensor->sqnr; });
  for (const TensorSensitivity* tensor : worst) {
    by_tensor.add_row({tensor->quantizer, decibels(tensor->sqnr),
                       fmt::format("{:.3g} %", 100 * tensor->clipped)});
  }
  return fmt::format(
      "{}\nOutput SQNR on {} samples, with Q/DQ at this layer alone or "
      "at all others{}\n\n{}\n{}",
      text, group_digits(samples), rise ? kRise : "", by_layer.to_string(),
      by_tensor.to_string());
}

QuantizationSpec Sensitivity::exclude(int64_t count) const {
  if (count < 0) {
    throw ValueError("out_of_range", "Sensitivity::exclude",
                     fmt::format("count must be >= 0, got {}", count));
  }
  QuantizationSpec spec;
  for (const LayerSensitivity& layer : by_sqnr()) {
    if (count-- == 0) break;
    spec.add(layer.layer, {.quantize_input = false, .quantize_weight = false});
  }
  return spec;
}

}  // namespace octet::quant
