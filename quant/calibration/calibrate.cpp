#include <algorithm>

#include <fmt/format.h>

#include <octet/layers/model_data.h>
#include <octet/quant/calibrate.h>
#include <octet/quant/wrapper.h>
#include <octet/runtime/error.h>

namespace octet::quant {
namespace {

// Switches all quantizers off and back to what they were; observations that
// nobody finished are dropped.
class Switches {
 public:
  explicit Switches(std::vector<std::shared_ptr<Quantizer>> all)
      : all_(std::move(all)) {
    for (const auto& quantizer : all_) {
      enabled_.push_back(quantizer->enabled());
      quantizer->set_enabled(false);
    }
  }
  ~Switches() {
    for (size_t i = 0; i < all_.size(); ++i) {
      all_[i]->set_enabled(enabled_[i]);
      all_[i]->cancel_observing();
    }
  }
  Switches(const Switches&) = delete;
  Switches& operator=(const Switches&) = delete;

  const std::vector<std::shared_ptr<Quantizer>>& all() const { return all_; }

 private:
  std::vector<std::shared_ptr<Quantizer>> all_;
  std::vector<bool> enabled_;
};

struct WeightScales {
  std::shared_ptr<Quantizer> quantizer;
  Tensor scales;
};

// Of weights whose scales per channel are fixed and not known yet: their
// ranges are exact.
std::vector<WeightScales> missing_weight_scales(const Model& model) {
  std::vector<WeightScales> result;
  for (const auto& layer : model.layers()) {
    const BaseQuantizeWrapper* wrapper = as_wrapper(*layer);
    if (wrapper == nullptr) continue;
    for (const PlacedQuantizer& weight : wrapper->weights()) {
      const Quantizer& quantizer = *weight.quantizer;
      if (quantizer.calibrated() || !quantizer.config().per_channel) continue;
      const Parameter& p = wrapper->inner().parameter(weight.site.parameter);
      Tensor scales = absmax_per_channel(p.variable.value(), p.channel_axis);
      with_context(
          [&] { return fmt::format("in quantizer '{}'", quantizer.name()); },
          [&] {
            for (float& s : scales.f32()) {
              s = scale_of_range(s, quantizer.config().high());
            }
          });
      result.push_back({weight.quantizer, std::move(scales)});
    }
  }
  return result;
}

bool is_all(const Tensor& tensor, float value) {
  return std::ranges::all_of(tensor.f32(), [=](float x) { return x == value; });
}

/// Warns of batch normalization whose statistics are those it was made with.
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
  warn(fmt::format(
      "calibrate: expected a trained model, got the initial statistics in {} "
      "BatchNormalization layers, the first '{}'. The ranges are not those of "
      "the trained network, and QAT may not learn with them. Hint: train the "
      "float model before quantize_model, or load its weights",
      untrained, first));
}

/// Warns of quantizers that somebody switched off and that stay so.
void warn_of_switched_off(const Model& model) {
  const auto all = quantizers(model);
  const auto off = std::ranges::count_if(
      all, [](const auto& quantizer) { return !quantizer->enabled(); });
  if (off == 0) return;
  warn(fmt::format(
      "calibrate: {} of {} quantizers are switched off and stay so: what is "
      "measured is not INT8. Hint: enable_fake_quant or prepare_qat",
      off, all.size()));
}

/// Warns of samples that lack classes of the data they come from.
void warn_of_missing_classes(const Dataset& data) {
  const std::vector<int64_t> missing = missing_classes(data, data.source());
  if (missing.empty()) return;
  warn(fmt::format(
      "calibrate: expected samples of all classes, got none of {} of them, the "
      "first {}. Hint: .samples and data.sample(n) choose by chance, "
      "data.sample(n, {{.stratified = true}}) from every class",
      missing.size(), missing[0]));
}

}  // namespace

std::vector<CalibratedRange> calibrate(
    Model& model, const std::function<void(const Model&)>& forward,
    const CalibrationOptions& options) {
  warn_of_switched_off(model);
  const Switches switches(quantizers(model));
  if (switches.all().empty()) {
    throw ValueError(fmt::format(
        "calibrate: expected a quantized model, got '{}'; run quantize_model "
        "first",
        model.name()));
  }
  warn_of_untrained_statistics(model);
  for (const auto& quantizer : switches.all()) {
    quantizer->start_observing(options);
  }
  {
    const NoGradGuard no_grad;
    forward(model);
  }
  for (const auto& quantizer : switches.all()) {
    if (!quantizer->observing()) continue;
    if (!quantizer->observed()) {
      throw ValueError(
          fmt::format("calibrate: expected data for quantizer '{}', got none. "
                      "Hint: evaluate() shows quantizers nothing; run the "
                      "model, or predict()",
                      quantizer->name()));
    }
    if (!quantizer->observed_range()) {
      throw ValueError(fmt::format(
          "calibrate: expected a range from the observer of quantizer '{}', "
          "which saw data, got none",
          quantizer->name()));
    }
  }
  for (const auto& [quantizer, scales] : missing_weight_scales(model)) {
    quantizer->set_scales(scales.f32());
  }
  std::vector<CalibratedRange> result;
  for (const auto& quantizer : switches.all()) {
    const std::optional<float> range = quantizer->finish_observing();
    if (!range) continue;
    result.push_back({quantizer->name(), *range, *quantizer->scale(),
                      *range < kSmallestRange});
  }
  for (const CalibratedRange& range : result) {
    if (!range.all_zero) continue;
    warn(
        fmt::format("calibrate: quantizer '{}' saw nothing but zeros; its "
                    "scale is 1",
                    range.quantizer));
  }
  return result;
}

std::vector<CalibratedRange> calibrate(Model& model, const Dataset& data,
                                       const CalibrationOptions& options) {
  if (options.batch_size < 1) {
    throw ValueError(fmt::format("calibrate: expected batch_size >= 1, got {}",
                                 options.batch_size));
  }
  if (options.samples < 0) {
    throw ValueError(fmt::format("calibrate: expected samples >= 0, got {}",
                                 options.samples));
  }
  const Dataset inputs = data_for("calibrate", model, data);
  const Dataset chosen =
      options.samples == 0
          ? inputs
          : inputs.sample(options.samples, {.seed = options.seed});
  warn_of_missing_classes(chosen);
  return calibrate(
      model,
      [&](const Model& m) {
        for (int64_t at = 0; at < chosen.size(); at += options.batch_size) {
          const int64_t count =
              std::min(options.batch_size, chosen.size() - at);
          const Batch batch = chosen.batch(at, count);
          (void)m(
              std::vector<Variable>(batch.inputs.begin(), batch.inputs.end()));
        }
      },
      options);
}

}  // namespace octet::quant
