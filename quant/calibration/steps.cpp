#include "calibration/steps.h"

#include <algorithm>
#include <string>
#include <unordered_set>

#include <fmt/format.h>

#include <octet/quant/calibrate.h>
#include <octet/quant/detail/calibration_steps.h>
#include <octet/quant/wrapper.h>
#include <octet/runtime/detail/progress_line.h>
#include <octet/runtime/error.h>

#include "numbers/weight_scales.h"

namespace octet::quant {
namespace {

bool is_all(const Tensor& tensor, float value) {
  return std::ranges::all_of(tensor.f32(), [=](float x) { return x == value; });
}

/// Warns of batch normalization with initial statistics.
void warn_of_untrained_statistics(const Model& model) {
  int64_t untrained = 0;
  std::string first;
  for (const auto& layer : model.layers()) {
    if (float_layer(*layer).class_name() != "BatchNormalization") continue;
    if (!is_all(layer->parameter("moving_mean").variable.value(), 0) ||
        !is_all(layer->parameter("moving_variance").variable.value(), 1)) {
      continue;
    }
    if (untrained++ == 0) first = layer->name();
  }
  if (untrained == 0) return;
  warn("initial_statistics", "calibrate",
       fmt::format(
           "{} BatchNormalization layers have their initial statistics, the "
           "first is '{}'. The ranges will not be those of the trained "
           "network, and QAT may not learn with them. Hint: train the float "
           "model before quantize_model, or load its weights",
           untrained, first));
}

/// Warns of disabled quantizers, which remain disabled.
void warn_of_switched_off(const Model& model) {
  const auto all = quantizers(model);
  const auto off = std::ranges::count_if(
      all, [](const auto& quantizer) { return !quantizer->enabled(); });
  if (off == 0) return;
  warn("disabled_quantizers", "calibrate",
       fmt::format("{} of {} quantizers are disabled and remain so: the model "
                   "is not fully INT8. Hint: enable_fake_quant or prepare_qat",
                   off, all.size()));
}

}  // namespace

Quantizers activation_ranges(Model& model) {
  Quantizers result;
  std::unordered_set<const Quantizer*> known;
  for (const PlacedQuantizer& placed : activation_quantizers(model)) {
    const auto& quantizer = placed.quantizer;
    if (quantizer->config().constant_scale > 0) continue;
    if (known.insert(quantizer.get()).second) result.push_back(quantizer);
  }
  return result;
}

void check_calibration(const Model& model) {
  if (!is_quantized(model)) {
    throw ValueError(
        "not_quantized", "calibrate",
        fmt::format("model '{}' has no quantizers. Hint: run quantize_model "
                    "first",
                    model.name()));
  }
  for (const auto& quantizer : quantizers(model)) {
    const QuantizerConfig& config = quantizer->config();
    if (config.zero_point == 0 || config.asymmetric) continue;
    throw UnsupportedError(
        "unsupported_value", fmt::format("quantizer '{}'", quantizer->name()),
        fmt::format(
            "cannot calibrate {}: calibration ranges are symmetric. Hint: "
            "OnnxImportOptions::drop_quantizers imports the float model of an "
            "ONNX file, to quantize it again",
            to_string(quantizer->config())));
  }
  warn_of_switched_off(model);
  warn_of_untrained_statistics(model);
}

SwitchedOff::SwitchedOff(Model& model) : all_(quantizers(model)) {
  for (const auto& quantizer : all_) {
    enabled_.push_back(quantizer->enabled());
    quantizer->set_enabled(false);
  }
}

SwitchedOff::~SwitchedOff() {
  for (size_t i = 0; i < all_.size(); ++i) {
    all_[i]->set_enabled(enabled_[i]);
    all_[i]->cancel_observing();
  }
}

void WeightScales::put_in_place() const {
  if (quantizer->config().per_channel || quantizer->config().block > 0) {
    quantizer->set_scales(scales.f32());
  } else {
    quantizer->set_scale(scales.item());
  }
}

std::vector<WeightScales> scales_of_weights(const Model& model,
                                            std::optional<WeightRange> wanted) {
  std::vector<WeightScales> result;
  std::string live;
  for (const auto& layer : model.layers()) {
    const BaseQuantizeWrapper* wrapper = as_wrapper(*layer);
    if (wrapper == nullptr) continue;
    for (const PlacedQuantizer& weight : wrapper->weights()) {
      const Quantizer& quantizer = *weight.quantizer;
      if (quantizer.config().rule == ScaleRule::live) {
        if (live.empty()) live = quantizer.name();
        continue;
      }
      if (!wanted && quantizer.calibrated()) continue;
      const Parameter& p = wrapper->inner().parameter(weight.site.parameter);
      with_context(
          [&] { return fmt::format("in quantizer '{}'", quantizer.name()); },
          [&] {
            result.push_back(
                {weight.quantizer,
                 weight_scales(fmt::format("quantizer '{}'", quantizer.name()),
                               p.variable.value(), p.channel_axis,
                               quantizer.config(),
                               wanted.value_or(WeightRange::max))});
          });
    }
  }
  if (wanted == WeightRange::mse && !live.empty()) {
    warn(
        "option_ignored", "calibrate",
        fmt::format("WeightRange::mse does not apply to live scales, such as "
                    "'{}', which follow the largest magnitude in every pass. "
                    "Hint: quantize_model with `.weight.rule` fixed or learned",
                    live));
  }
  return result;
}

void expect_ranges(const Quantizers& observing) {
  for (const auto& quantizer : observing) {
    if (!quantizer->observed()) {
      throw ValueError("invalid_state",
                       fmt::format("quantizer '{}'", quantizer->name()),
                       "received no calibration data. "
                       "Hint: evaluate() pauses observers; call the "
                       "model, or predict()");
    }
    if (!quantizer->observed_range()) {
      throw ValueError("missing_value",
                       fmt::format("quantizer '{}'", quantizer->name()),
                       "observed data, but its observer returned no range");
    }
  }
}

void warn_of_zeros(const std::string& quantizer) {
  warn("zero_range", fmt::format("quantizer '{}'", quantizer),
       "observed only zeros in calibration; its scale is 1");
}

void check_batch_size(int64_t batch_size) {
  if (batch_size >= 1) return;
  throw ValueError("out_of_range", "calibrate",
                   fmt::format("batch_size must be >= 1, got {}", batch_size));
}

void InputValues::add(const Tensor& values) {
  if (!first) first = values.f32()[0];
  varied = varied || values.size() == 1 || !is_all(values, *first);
}

void InputValues::add(const InputValues& later) {
  if (!first) first = later.first;
  varied = varied || later.varied || (later.first && *later.first != *first);
}

std::vector<InputValues> run_samples(const Model& model, const Dataset& samples,
                                     int64_t batch_size) {
  check_batch_size(batch_size);
  const NoGradGuard no_grad;
  ProgressLine progress("calibrate", samples.size());
  std::vector<InputValues> inputs(model.inputs().size());
  for (int64_t at = 0; at < samples.size(); at += batch_size) {
    const int64_t count = std::min(batch_size, samples.size() - at);
    const Batch batch = samples.batch(at, count);
    for (size_t i = 0; i < inputs.size(); ++i) inputs[i].add(batch.inputs[i]);
    (void)model(
        std::vector<Variable>(batch.inputs.begin(), batch.inputs.end()));
    progress.advance(count);
  }
  return inputs;
}

void expect_varied(const Model& model, std::span<const InputValues> inputs) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!inputs[i].first || inputs[i].varied) continue;
    throw ValueError(
        "invalid_value",
        fmt::format("input '{}'", model.inputs()[i].node->layer->name()),
        fmt::format("all calibration values are {}. Hint: load and scale the "
                    "data as in training",
                    *inputs[i].first));
  }
}

}  // namespace octet::quant
