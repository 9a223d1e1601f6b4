#include <algorithm>

#include <fmt/format.h>

#include <octet/quant/calibrate.h>
#include <octet/quant/wrapper.h>
#include <octet/runtime/error.h>
#include <octet/runtime/parallel.h>

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
    for (const WeightFakeQuantize& weight : wrapper->weights()) {
      const Quantizer& quantizer = *weight.quantizer;
      if (quantizer.calibrated() || !quantizer.config().per_channel) continue;
      const Parameter& p = wrapper->inner().parameter(weight.parameter);
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

}  // namespace

std::vector<CalibratedRange> calibrate(
    const Model& model, const std::function<void(const Model&)>& forward,
    const CalibrationOptions& options) {
  const Switches switches(quantizers(model));
  if (switches.all().empty()) {
    throw ValueError(fmt::format(
        "calibrate: expected a quantized model, got '{}'; run quantize_model "
        "first",
        model.name()));
  }
  for (const auto& quantizer : switches.all()) {
    quantizer->start_observing({.method = options.method,
                                .percentile = options.percentile,
                                .ema_rate = options.ema_rate});
  }
  {
    // Observers see tensors one after another, whatever `forward` calls:
    // Model::predict would otherwise run them from several threads.
    const SerialGuard serial;
    const NoGradGuard no_grad;
    forward(model);
  }
  for (const auto& quantizer : switches.all()) {
    if (quantizer->observing() && !quantizer->observed()) {
      throw ValueError(
          fmt::format("calibrate: expected data for quantizer '{}', got none",
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
    if (!range.dead) continue;
    warn(
        fmt::format("calibrate: quantizer '{}' saw nothing but zeros; its "
                    "scale is 1",
                    range.quantizer));
  }
  return result;
}

std::vector<CalibratedRange> calibrate(const Model& model, const Dataset& data,
                                       const CalibrationOptions& options) {
  if (options.batch_size < 1) {
    throw ValueError(fmt::format("calibrate: expected batch_size >= 1, got {}",
                                 options.batch_size));
  }
  return calibrate(
      model,
      [&](const Model& m) {
        for (int64_t at = 0; at < data.size(); at += options.batch_size) {
          const int64_t count = std::min(options.batch_size, data.size() - at);
          m(Variable(data.batch(at, count).inputs), Mode::inference);
        }
      },
      options);
}

}  // namespace octet::quant
