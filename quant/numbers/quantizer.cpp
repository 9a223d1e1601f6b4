#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <octet/quant/quantizer.h>
#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>
#include <octet/runtime/parallel.h>

#include "numbers/quantizer_checks.h"
#include "numbers/weight_scales.h"

namespace octet::quant {
namespace {

ValueRange ends_of(const Tensor& x) {
  ValueRange range;
  for (const float v : x.f32()) {
    range.low = std::min(range.low, v);
    range.high = std::max(range.high, v);
  }
  return range;
}

// Placeholder for a tensor id; no variable has it.
constexpr uint64_t kElsewhere = std::numeric_limits<uint64_t>::max();

// Also distinguishes writes to a leaf.
std::pair<uint64_t, uint64_t> identity(const Variable& x) {
  return {x.id(), x.is_leaf() ? x.version() : 0};
}

}  // namespace

Quantizer::Quantizer(std::string name, const QuantizerConfig& config)
    : name_(std::move(name)), config_(config) {
  check_quantizer(name_, config);
  if (config.constant_scale > 0) set(Tensor::scalar(config.constant_scale));
}

void Quantizer::expect_sign(const Tensor& x) const {
  if (config_.low() < 0 || config_.asymmetric) return;
  for (const float v : x.f32()) {
    if (!(v < 0)) continue;
    throw ValueError(
        "invalid_value", fmt::format("quantizer '{}'", name_),
        fmt::format("negative value {} for the unsigned range [{},{}]. Hint: "
                    "set `.is_signed = true` in its plan point",
                    v, config_.low(), config_.high()));
  }
}

void Quantizer::observe(const Variable& x) const {
  if (!observing() || last_observed_ == x.id()) return;
  with_context([&] { return fmt::format("in quantizer '{}'", name_); },
               [&] {
                 expect_sign(x.value());
                 observer_->observe(x.value());
               });
  last_observed_ = x.id();
}

// Updates a scale that follows training, after a pass with nonzero values.
// Returns whether there is still no scale, as all values were zero.
bool Quantizer::follow(const Variable& x) const {
  if (!config_.follows() || frozen_ || pauses_ > 0) return false;
  CrossShardReduction* const parts = cross_shard_reduction();
  const auto part = static_cast<size_t>(parts != nullptr ? parts->shard() : 0);
  const auto seen = identity(x);
  if (part < followed_.size() && followed_[part] == seen) {
    return !scale_;  // seen by another consumer
  }
  ValueRange range = followed_range(x);
  if (followed_.size() <= part) followed_.resize(part + 1);
  followed_[part] = seen;
  if (parts != nullptr) {
    std::array<double, 2> ends = {range.high, -range.low};
    parts->max(ends);
    if (!parts->first()) return !scale_;
    range = {-static_cast<float>(ends[1]), static_cast<float>(ends[0])};
  }
  if (range.magnitude() < kSmallestRange) return !scale_;
  const bool first = !scale_;
  const float rate = config_.rule == ScaleRule::ema ? config_.ema_rate : 1.0f;
  const auto moved = [&](float before, float now) {
    return first || rate == 1.0f ? now : before + rate * (now - before);
  };
  if (config_.asymmetric) {
    if (!range_) range_ = range;
    put_range({moved(range_->low, range.low), moved(range_->high, range.high)});
  } else {
    const float scale = scale_of_range(range.high, config_.high());
    const float before = first ? scale : scale_.value().item();
    put_leaf(Tensor::scalar(moved(before, scale)), {});
  }
  ++steps_;
  if (config_.freeze_step > 0 && steps_ >= config_.freeze_step) frozen_ = true;
  return false;
}

// Returns the range of a pass; symmetric ones have their magnitude at the end
// `high`.
ValueRange Quantizer::followed_range(const Variable& x) const {
  return with_context(
      [&] { return fmt::format("in quantizer '{}'", name_); },
      [&]() -> ValueRange {
        expect_sign(x.value());
        const float top = absmax(x.value());
        (void)scale_of_range(top, config_.high());
        return config_.asymmetric ? ends_of(x.value()) : ValueRange{0, top};
      });
}

// Sets scale and zero point of a range that training follows.
void Quantizer::put_range(ValueRange range) const {
  const QuantParams qparams = qparams_of(range);
  if (config_.asymmetric) config_.zero_point = -qparams.low;
  range_ = range;
  put_leaf(qparams.scale, {});
}

Variable Quantizer::operator()(const Variable& x, Mode mode) const {
  observe(x);
  if (mode == Mode::training && follow(x)) return x;
  if (!rounds()) return x;
  if (config_.learns() && grad_enabled()) {
    const int64_t samples = x.shape().rank() > 0 ? x.shape()[0] : 1;
    const LearnedScale scale =
        learned_scale(x.shape().size() / std::max<int64_t>(samples, 1));
    return fake_quantize(x, scale, config().qparams(),
                         config_.straight_through);
  }
  const bool sees_values =
      config_.rule == ScaleRule::live || config_.per_channel;
  return fake_quantize(x, qparams(sees_values ? x.value() : Tensor(), -1),
                       config_.straight_through);
}

Variable Quantizer::weight(const Variable& w, int axis) const {
  observe(w);
  if (!rounds()) return w;
  if (config_.learns() && grad_enabled()) {
    const QuantParams checked = qparams(w.value(), axis);
    QuantParams qparams = config_.qparams();
    qparams.axis = axis;
    return fake_quantize(w,
                         learned_scale(w.shape().size() / checked.scale.size()),
                         qparams, config_.straight_through);
  }
  return fake_quantize(w, weight_qparams(w, axis), config_.straight_through);
}

// Gradient factor for a tensor of `values` values.
LearnedScale Quantizer::learned_scale(int64_t values) const {
  keep_above_floor();
  const float rate = config_.scale_rate;
  const auto high = static_cast<float>(config_.high());
  if (config_.rule == ScaleRule::learned_log2) {
    return {.scale = scale_, .gradient_factor = rate, .log2 = true};
  }
  // A step of the scale is 1/high of a step of the range, whose gradient is
  // 1/high of the scale's.
  if (config_.rule == ScaleRule::learned_clip) {
    return {.scale = scale_,
            .gradient_factor = rate / (high * high),
            .slope = ScaleSlope::none};
  }
  const double n = static_cast<double>(std::max<int64_t>(values, 1));
  // The whole range if the offset is learned; with a fixed zero point, its
  // longer side.
  const double levels =
      config_.rule == ScaleRule::learned_affine ? config_.high() - config_.low()
      : config_.zero_point == 0                 ? config_.high()
                                : std::max(config_.high(), -config_.low());
  return {.scale = scale_,
          .gradient_factor = static_cast<float>(rate / std::sqrt(n * levels)),
          .offset = offset_};
}

QuantParams Quantizer::qparams(const Tensor& x, int axis) const {
  QuantParams qparams = config().qparams();
  qparams.axis = axis;
  with_context(
      [&] { return fmt::format("in quantizer '{}'", name_); },
      [&] {
        if (config_.rule != ScaleRule::live) {
          if (!scale_) {
            throw ValueError(
                "not_calibrated", fmt::format("quantizer '{}'", name_),
                "not calibrated. Hint: run quant::calibrate first");
          }
          qparams.scale = current_scale();
          if (config_.block > 0) {
            qparams = with_reshaped_blocks(fmt::format("quantizer '{}'", name_),
                                           qparams, x.shape(), axis);
            return;
          }
          if (config_.per_channel && x.shape()[axis] != qparams.scale.size()) {
            throw ShapeError(
                "count_mismatch", fmt::format("quantizer '{}'", name_),
                fmt::format("expected {} scales for axis {} of {}, got {}",
                            x.shape()[axis], axis, x.shape().to_string(),
                            qparams.scale.size()));
          }
          return;
        }
        if (x.empty()) {
          throw InternalError("internal", fmt::format("quantizer '{}'", name_),
                              "live scale without a tensor");
        }
        qparams = live_qparams(fmt::format("quantizer '{}'", name_), x, axis,
                               config_);
      });
  return qparams;
}

QuantParams Quantizer::weight_qparams(const Variable& weight, int axis) const {
  if (config_.rule != ScaleRule::live) return qparams(weight.value(), axis);
  if (weight.value().being_written()) return qparams(weight.value(), axis);
  const uint64_t version = weight.version();
  const std::lock_guard lock(mutex_);
  const bool kept = live_ && live_->id == weight.id() &&
                    live_->version == version && live_->axis == axis;
  if (!kept) {
    live_ = CachedQuantParams{weight.id(), version, axis,
                              qparams(weight.value(), axis)};
  }
  return live_->qparams;
}

bool Quantizer::rounds() const {
  if (!enabled_) return false;
  if (calibrated()) return true;
  if (observer_ != nullptr) return false;
  throw ValueError("not_calibrated", fmt::format("quantizer '{}'", name_),
                   "not calibrated. Hint: run quant::calibrate first, or "
                   "quant::disable_fake_quant for the float model");
}

bool Quantizer::calibrated() const {
  return config_.rule == ScaleRule::live || scale_;
}

void Quantizer::start_observing(const CalibrationOptions& options) {
  if (config_.rule == ScaleRule::live || config_.per_channel ||
      config_.block > 0 || config_.constant_scale > 0) {
    return;
  }
  observer_ = make_observer(options, config_);
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
  const std::optional<float> magnitude = observed_range();
  const std::optional<ValueRange> range =
      magnitude ? observer_->interval() : std::nullopt;
  cancel_observing();
  if (range) set_range(*range);
  return magnitude;
}

void Quantizer::cancel_observing() {
  observer_.reset();
  last_observed_.reset();
}

Config Quantizer::observations() const {
  return observed() ? observer_->state() : Config();
}

void Quantizer::set_observations(std::span<const Config> parts) {
  auto merged = make_observer(observer_options_, config_);
  bool any = false;
  for (const Config& part : parts) {
    if (part.is_null()) continue;
    merged->merge(part);
    any = true;
  }
  observer_ = std::move(merged);
  last_observed_.reset();
  if (any) last_observed_ = kElsewhere;
}

std::shared_ptr<Quantizer> Quantizer::clone() const {
  auto copy = std::make_shared<Quantizer>(name_, config());
  copy->enabled_ = enabled_;
  copy->frozen_ = frozen_;
  copy->steps_ = steps_;
  copy->range_ = range_;
  if (scale_) copy->put_leaf(scale_.value(), floor_);
  if (offset_) copy->put_offset(offset_.value().item());
  return copy;
}

}  // namespace octet::quant
