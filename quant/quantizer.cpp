#include <cmath>

#include <fmt/format.h>

#include <octet/quant/quantizer.h>
#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>

namespace octet::quant {

QuantizerConfig activation_quantizer() { return {}; }
QuantizerConfig weight_quantizer() {
  return {.narrow_range = true, .per_channel = true, .rule = ScaleRule::live};
}

std::string to_string(const QuantizerConfig& c) {
  return fmt::format("int{} [{},{}] {} {}", c.bits, c.low(), c.high(),
                     c.per_channel ? "per channel" : "per tensor",
                     c.rule == ScaleRule::live ? "live" : "fixed");
}

Quantizer::Quantizer(std::string name, const QuantizerConfig& config)
    : name_(std::move(name)), config_(config) {
  if (config.bits < 2 || config.bits > 8) {
    throw ValueError(fmt::format("quantizer '{}': expected 2 to 8 bits, got {}",
                                 name_, config.bits));
  }
  if (config.per_channel && config.rule == ScaleRule::fixed) {
    throw UnsupportedError(fmt::format(
        "quantizer '{}': expected a per-tensor scale where it is fixed, got "
        "one per channel; TensorRT takes per-channel scales on weights only",
        name_));
  }
}

void Quantizer::observe(const Variable& x) const {
  if (observer_ == nullptr || last_observed_ == x.id()) return;
  with_context([&] { return fmt::format("in quantizer '{}'", name_); },
               [&] { observer_->observe(x.value()); });
  last_observed_ = x.id();
}

Variable Quantizer::operator()(const Variable& x) const {
  observe(x);
  if (!enabled_ || !calibrated()) return x;
  const bool live = config_.rule == ScaleRule::live;
  return fake_quantize(x, grid(live ? x.value() : Tensor(), -1));
}

Grid Quantizer::grid(const Tensor& x, int axis) const {
  Grid grid{.axis = axis, .low = config_.low(), .high = config_.high()};
  with_context(
      [&] { return fmt::format("in quantizer '{}'", name_); },
      [&] {
        if (config_.rule == ScaleRule::fixed) {
          if (!scale_) {
            throw ValueError(
                "scale: expected a calibrated quantizer, got one "
                "without a scale; "
                "run quant::calibrate first");
          }
          grid.scale = Tensor::scalar(*scale_);
          return;
        }
        if (x.empty()) {
          throw InternalError("grid: expected the tensor for a live scale");
        }
        grid.scale = config_.per_channel ? absmax_per_channel(x, axis)
                                         : Tensor::scalar(absmax(x));
        for (float& s : grid.scale.f32()) s = scale_of_range(s, grid.high);
      });
  return grid;
}

Grid Quantizer::weight_grid(const Variable& weight, int axis) const {
  if (config_.rule == ScaleRule::fixed) return grid(weight.value(), axis);
  const uint64_t version = weight.version();
  const std::lock_guard lock(mutex_);
  const bool kept = live_ && live_->id == weight.id() &&
                    live_->version == version && live_->axis == axis;
  if (!kept) {
    live_ = LiveGrid{weight.id(), version, axis, grid(weight.value(), axis)};
  }
  return live_->grid;
}

bool Quantizer::calibrated() const {
  return config_.rule == ScaleRule::live || scale_.has_value();
}

void Quantizer::set_scale(float scale) {
  if (config_.rule == ScaleRule::live) {
    throw UnsupportedError(fmt::format(
        "quantizer '{}': expected a fixed scale rule, got the live one",
        name_));
  }
  if (!(scale > 0) || std::isinf(scale)) {
    throw ValueError(fmt::format(
        "quantizer '{}': expected a finite scale > 0, got {}", name_, scale));
  }
  scale_ = scale;
}

void Quantizer::start_observing(const ObserverOptions& options) {
  if (config_.rule == ScaleRule::live) return;
  observer_ = make_observer(options);
  last_observed_.reset();
}

std::optional<float> Quantizer::finish_observing() {
  if (observer_ == nullptr) return std::nullopt;
  const std::optional<float> range = observer_->range();
  cancel_observing();
  if (range) scale_ = scale_of_range(*range, config_.high());
  return range;
}

void Quantizer::cancel_observing() {
  observer_.reset();
  last_observed_.reset();
}

std::shared_ptr<Quantizer> Quantizer::clone() const {
  auto copy = std::make_shared<Quantizer>(name_, config_);
  copy->scale_ = scale_;
  copy->enabled_ = enabled_;
  return copy;
}

}  // namespace octet::quant
