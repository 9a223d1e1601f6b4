#include <cmath>
#include <limits>
#include <utility>
#include <vector>

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
}

void Quantizer::observe(const Variable& x) const {
  if (!observing() || last_observed_ == x.id()) return;
  with_context([&] { return fmt::format("in quantizer '{}'", name_); },
               [&] { observer_->observe(x.value()); });
  last_observed_ = x.id();
}

Variable Quantizer::operator()(const Variable& x) const {
  observe(x);
  if (!rounds()) return x;
  const bool fixed = config_.rule == ScaleRule::fixed && !config_.per_channel;
  return fake_quantize(x, grid(fixed ? Tensor() : x.value(), -1));
}

Grid Quantizer::grid(const Tensor& x, int axis) const {
  Grid grid{.axis = axis, .low = config_.low(), .high = config_.high()};
  with_context(
      [&] { return fmt::format("in quantizer '{}'", name_); },
      [&] {
        if (config_.rule == ScaleRule::fixed) {
          if (scale_.empty()) {
            throw ValueError(
                "scale: expected a calibrated quantizer, got one without a "
                "scale; run quant::calibrate first");
          }
          if (config_.per_channel && x.shape()[axis] != scale_.size()) {
            throw ShapeError(fmt::format(
                "scales: expected {} for axis {} of {}, got {}",
                x.shape()[axis], axis, x.shape().to_string(), scale_.size()));
          }
          grid.scale = scale_;
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
  if (weight.value().being_written()) return grid(weight.value(), axis);
  const uint64_t version = weight.version();
  const std::lock_guard lock(mutex_);
  const bool kept = live_ && live_->id == weight.id() &&
                    live_->version == version && live_->axis == axis;
  if (!kept) {
    live_ = LiveGrid{weight.id(), version, axis, grid(weight.value(), axis)};
  }
  return live_->grid;
}

bool Quantizer::rounds() const {
  if (!enabled_) return false;
  if (calibrated()) return true;
  if (observer_ != nullptr) return false;
  throw ValueError(
      fmt::format("quantizer '{}': expected a calibrated quantizer, got one "
                  "without a scale; run quant::calibrate first, or "
                  "quant::disable_fake_quant for the float model",
                  name_));
}

bool Quantizer::calibrated() const {
  return config_.rule == ScaleRule::live || !scale_.empty();
}

std::optional<float> Quantizer::scale() const {
  if (config_.per_channel || scale_.empty()) return std::nullopt;
  return scale_.item();
}

std::span<const float> Quantizer::scales() const {
  if (scale_.empty()) return {};
  return scale_.f32();
}

void Quantizer::set_scale(float scale) {
  check_scales(std::span(&scale, 1), false);
  scale_ = Tensor::scalar(scale);
}

void Quantizer::set_scales(std::span<const float> scales) {
  check_scales(scales, true);
  scale_ = Tensor::of({static_cast<int64_t>(scales.size())}, scales);
}

void Quantizer::check_scales(std::span<const float> scales,
                             bool per_channel) const {
  if (config_.rule == ScaleRule::live) {
    throw UnsupportedError(fmt::format(
        "quantizer '{}': expected a fixed scale rule, got the live one",
        name_));
  }
  if (per_channel != config_.per_channel) {
    throw UnsupportedError(fmt::format(
        "quantizer '{}': expected {}, got {}", name_,
        config_.per_channel ? "scales per channel" : "one scale per tensor",
        per_channel ? "scales per channel" : "one scale per tensor"));
  }
  if (scales.empty()) {
    throw ValueError(fmt::format(
        "quantizer '{}': expected a scale for each channel, got none", name_));
  }
  for (const float scale : scales) {
    if (!(scale > 0) || std::isinf(scale)) {
      throw ValueError(fmt::format(
          "quantizer '{}': expected a finite scale > 0, got {}", name_, scale));
    }
  }
}

void Quantizer::start_observing(const CalibrationOptions& options) {
  if (config_.rule == ScaleRule::live || config_.per_channel) return;
  observer_ = make_observer(options, config_.high());
  observer_options_ = options;
  last_observed_.reset();
}

std::optional<float> Quantizer::observed_range() const {
  if (observer_ == nullptr) return std::nullopt;
  const std::optional<float> range = observer_->range();
  with_context([&] { return fmt::format("in quantizer '{}'", name_); },
               [&] {
                 if (range) (void)scale_of_range(*range, config_.high());
               });
  return range;
}

std::optional<float> Quantizer::finish_observing() {
  const std::optional<float> range = observed_range();
  cancel_observing();
  if (range) set_scale(scale_of_range(*range, config_.high()));
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

Config Quantizer::state() const {
  Config state;
  state.set("enabled", enabled_);
  if (const auto single = scale()) {
    state.set("scale", *single);
  } else if (!scales().empty()) {
    Config::List list;
    for (const float s : scales()) list.emplace_back(s);
    state.set("scales", std::move(list));
  }
  if (observer_ != nullptr) {
    with_context(
        [&] { return fmt::format("in quantizer '{}'", name_); },
        [&] {
          state.set(
              "observer",
              to_config(observer_options_).set("state", observer_->state()));
        });
  }
  return state;
}

void Quantizer::restore(const Config& state) {
  with_context([&] { return fmt::format("in quantizer '{}'", name_); },
               [&] {
                 Quantizer made(name_, config_);
                 made.set_enabled(state.at("enabled").as_bool());
                 if (const Config* scale = state.find("scale")) {
                   made.set_scale(static_cast<float>(scale->as_number()));
                 }
                 if (const Config* list = state.find("scales")) {
                   std::vector<float> scales;
                   for (const Config& s : list->as_list()) {
                     scales.push_back(static_cast<float>(s.as_number()));
                   }
                   made.set_scales(scales);
                 }
                 if (const Config* observer = state.find("observer")) {
                   made.start_observing(calibration_options_from(*observer));
                   if (made.observing())
                     made.observer_->restore(observer->at("state"));
                 }
                 scale_ = made.scale_;
                 enabled_ = made.enabled_;
                 observer_ = std::move(made.observer_);
                 observer_options_ = made.observer_options_;
                 last_observed_.reset();
                 // No variable has this id.
                 if (observer_ != nullptr && observer_->range()) {
                   last_observed_ = std::numeric_limits<uint64_t>::max();
                 }
               });
}

}  // namespace octet::quant
