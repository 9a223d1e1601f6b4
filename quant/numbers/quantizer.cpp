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

#include "numbers/weight_scales.h"

namespace octet::quant {
namespace {

// Floor of learned scales, relative to their initial values.
constexpr float kFloor = 0.01f;

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

void check_format(std::string_view name, const QuantizerConfig& config) {
  const int bits = config.bits;
  if (config.format == NumberFormat::integer) {
    if ((bits >= 2 && bits <= 8) || bits == 16) return;
    throw ValueError("out_of_range", fmt::format("quantizer '{}'", name),
                     fmt::format("bits must be in [2,8] or 16, got {}", bits));
  }
  if (config.is_signed && config.rule != ScaleRule::learned_clip) return;
  throw ValueError(
      "conflicting_options", fmt::format("quantizer '{}'", name),
      fmt::format("{} requires a signed range and a scale rule other than "
                  "learned_clip, got {}",
                  to_string(config.format), to_string(config)));
}

void check_block(std::string_view name, const QuantizerConfig& config) {
  if (config.block == 0) return;
  if (config.block < 2 || config.block > 4096) {
    throw ValueError(
        "out_of_range", fmt::format("quantizer '{}'", name),
        fmt::format("block must be in [2,4096], got {}", config.block));
  }
  const bool rule =
      config.rule == ScaleRule::live || config.rule == ScaleRule::fixed;
  if (rule && config.is_signed && !config.per_channel &&
      config.constant_scale == 0) {
    return;
  }
  throw ValueError("conflicting_options", fmt::format("quantizer '{}'", name),
                   fmt::format("blocks require a signed range, a live or fixed "
                               "rule, and neither per_channel nor "
                               "constant_scale, got {}",
                               to_string(config)));
}

void check_asymmetric(std::string_view name, const QuantizerConfig& config) {
  if (!config.asymmetric) return;
  if (config.is_signed || config.per_channel ||
      config.rule == ScaleRule::live ||
      config.rule == ScaleRule::learned_clip) {
    throw ValueError(
        "conflicting_options", fmt::format("quantizer '{}'", name),
        fmt::format("asymmetric requires an unsigned range per tensor with a "
                    "fixed, followed or learned scale, got {}",
                    to_string(config)));
  }
}

void check_constant(std::string_view name, const QuantizerConfig& config) {
  const float scale = config.constant_scale;
  if (scale == 0) return;
  if (!(scale > 0) || std::isinf(scale)) {
    throw ValueError(
        "out_of_range", fmt::format("quantizer '{}'", name),
        fmt::format("constant_scale must be finite and > 0, got {}", scale));
  }
  if (config.rule == ScaleRule::fixed && !config.per_channel &&
      !config.asymmetric) {
    return;
  }
  throw ValueError(
      "conflicting_options", fmt::format("quantizer '{}'", name),
      fmt::format("constant_scale requires a symmetric fixed scale "
                  "per tensor, got {}",
                  to_string(config)));
}

void check_zero_point(std::string_view name, const QuantizerConfig& config) {
  if (config.zero_point == 0) return;
  if (config.is_signed || config.low() > 0 || config.high() < 0) {
    throw ValueError(
        "invalid_value", fmt::format("quantizer '{}'", name),
        fmt::format("zero point must be in [0,{}] of an unsigned range, got {} "
                    "for {} range",
                    (1 << config.bits) - 1, config.zero_point,
                    config.is_signed ? "a signed" : "an unsigned"));
  }
  const bool takes_it = config.asymmetric || config.rule == ScaleRule::fixed ||
                        config.rule == ScaleRule::learned ||
                        config.rule == ScaleRule::learned_log2;
  if (takes_it) return;
  throw ValueError(
      "conflicting_options", fmt::format("quantizer '{}'", name),
      fmt::format(
          "zero point {} requires a fixed or learned scale, got scale rule {}",
          config.zero_point, to_string(config.rule)));
}

}  // namespace

Quantizer::Quantizer(std::string name, const QuantizerConfig& config)
    : name_(std::move(name)), config_(config) {
  check_format(name_, config);
  check_block(name_, config);
  if (!(config.ema_rate > 0 && config.ema_rate <= 1)) {
    throw ValueError(
        "out_of_range", fmt::format("quantizer '{}'", name_),
        fmt::format("ema_rate must be in (0,1], got {}", config.ema_rate));
  }
  if (!(config.scale_rate > 0 && config.scale_rate <= 1)) {
    throw ValueError(
        "out_of_range", fmt::format("quantizer '{}'", name_),
        fmt::format("scale_rate must be in (0,1], got {}", config.scale_rate));
  }
  if (!(config.clip_decay >= 0 && config.clip_decay < 1)) {
    throw ValueError(
        "out_of_range", fmt::format("quantizer '{}'", name_),
        fmt::format("clip_decay must be in [0,1), got {}", config.clip_decay));
  }
  if (config.freeze_step < 0) {
    throw ValueError(
        "out_of_range", fmt::format("quantizer '{}'", name_),
        fmt::format("freeze_step must be >= 0, got {}", config.freeze_step));
  }
  check_asymmetric(name_, config);
  check_constant(name_, config);
  check_zero_point(name_, config);
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
    return fake_quantize(
        x, learned_scale(x.shape().size() / std::max<int64_t>(samples, 1)),
        config_.qparams(), config_.straight_through);
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
  // With a zero point, the longer side counts.
  const double codes = config_.zero_point == 0
                           ? config_.high()
                           : std::max(config_.high(), -config_.low());
  return {.scale = scale_,
          .gradient_factor = static_cast<float>(rate / std::sqrt(n * codes))};
}

QuantParams Quantizer::qparams(const Tensor& x, int axis) const {
  QuantParams qparams = config_.qparams();
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

std::optional<float> Quantizer::scale() const {
  if (config_.per_channel || config_.block > 0 || !scale_) return std::nullopt;
  return current_scale().item();
}

std::vector<float> Quantizer::scales() const {
  if (!scale_) return {};
  const Tensor scale = current_scale();
  const auto values = scale.f32();
  return {values.begin(), values.end()};
}

Variable Quantizer::scale_parameter() const {
  return config_.follows() || config_.learns() ? scale_ : Variable();
}

// Converts scales to the leaf's representation, and back.
Tensor Quantizer::as_leaf(const Tensor& scale) const {
  Tensor result = scale.clone();
  if (config_.rule == ScaleRule::learned_log2) {
    for (float& s : result.f32()) s = static_cast<float>(std::log2(double{s}));
  }
  return result;
}

Tensor Quantizer::as_scale(const Tensor& leaf) const {
  return config_.rule == ScaleRule::learned_log2 ? scales_of_log2(leaf)
                                                 : leaf.clone();
}

// Returns a copy, clamped to the floor. NaN remains, so that checks find it.
Tensor Quantizer::current_scale() const {
  Tensor result = as_scale(scale_.value());
  if (floor_.empty()) return result;
  const auto least = std::as_const(floor_).f32();
  const auto to = result.f32();
  for (size_t i = 0; i < to.size(); ++i) {
    if (to[i] < least[i]) to[i] = least[i];
  }
  return result;
}

int64_t Quantizer::scales_at_floor() const {
  if (!scale_ || floor_.empty()) return 0;
  const Tensor scale = as_scale(scale_.value());
  int64_t count = 0;
  for (size_t i = 0; i < scale.f32().size(); ++i) {
    // Tolerance: the floor's logarithm is rounded.
    count += scale.f32()[i] <= std::as_const(floor_).f32()[i] * 1.0001f;
  }
  return count;
}

// Clamps scales to their floor. Logarithms above it keep their bits.
void Quantizer::keep_above_floor() const {
  if (floor_.empty()) return;
  const Tensor scale = as_scale(scale_.value());
  const Tensor least = as_leaf(floor_);
  Tensor leaf = scale_.value().clone();
  bool any = false;
  for (size_t i = 0; i < leaf.f32().size(); ++i) {
    if (!(scale.f32()[i] < std::as_const(floor_).f32()[i])) continue;
    leaf.f32()[i] = least.f32()[i];
    any = true;
  }
  if (any) scale_.assign(leaf);
}

void Quantizer::put_leaf(const Tensor& value, const Tensor& floor) const {
  const bool learns = config_.learns() && !frozen_;
  if (!scale_ || scale_.shape() != value.shape()) {
    scale_ = Variable(value.clone(), learns);
  } else if (!std::ranges::equal(std::as_const(value).f32(),
                                 scale_.value().f32())) {
    scale_.assign(value);
  }
  floor_ = floor;
}

void Quantizer::set_frozen(bool frozen) {
  frozen_ = frozen;
  if (scale_ && config_.learns()) {
    scale_.set_requires_grad(!frozen);
  }
}

void Quantizer::set_scale(float scale) {
  check_scales(std::span(&scale, 1), false);
  set(Tensor::scalar(scale));
}

QuantParams Quantizer::qparams_of(ValueRange range) const {
  if (!(range.low <= 0 && range.high >= 0) || std::isinf(range.low) ||
      std::isinf(range.high)) {
    throw ValueError(
        "invalid_value", fmt::format("quantizer '{}'", name_),
        fmt::format("range must be finite and contain 0, got [{},{}]",
                    range.low, range.high));
  }
  if (!config_.asymmetric) {
    QuantParams result = config_.qparams();
    result.scale =
        Tensor::scalar(scale_of_range(range.magnitude(), config_.high()));
    return result;
  }
  const int last = (1 << config_.bits) - 1;
  const double width = double{range.high} - double{range.low};
  if (width < kSmallestRange) {
    return {.scale = Tensor::scalar(1.0f), .low = 0, .high = last};
  }
  const auto scale = static_cast<float>(width / last);
  const auto zero = static_cast<int>(
      std::clamp(std::nearbyint(-double{range.low} / scale), 0.0, last + 0.0));
  return {.scale = Tensor::scalar(scale), .low = -zero, .high = last - zero};
}

void Quantizer::set_range(ValueRange range) {
  const QuantParams qparams = qparams_of(range);
  if (config_.asymmetric) {
    config_.zero_point = -qparams.low;
    range_ = range;
  }
  set_scale(qparams.scale.item());
}

void Quantizer::set_scales(std::span<const float> scales) {
  check_scales(scales, true);
  set(Tensor::of({static_cast<int64_t>(scales.size())}, scales));
}

void Quantizer::set(const Tensor& scale) {
  if (!config_.learns()) return put_leaf(scale, {});
  Tensor floor = scale.clone();
  for (float& s : floor.f32()) s *= kFloor;
  put_leaf(as_leaf(scale), floor);
}

void Quantizer::check_scales(std::span<const float> scales,
                             bool per_channel) const {
  if (config_.rule == ScaleRule::live) {
    throw UnsupportedError("unsupported_value",
                           fmt::format("quantizer '{}'", name_),
                           "live scales cannot be set");
  }
  if (per_channel != (config_.per_channel || config_.block > 0)) {
    throw UnsupportedError(
        "count_mismatch", fmt::format("quantizer '{}'", name_),
        fmt::format(
            "expected {}, got {}",
            config_.block > 0     ? "one scale per block"
            : config_.per_channel ? "one scale per channel"
                                  : "one scale per tensor",
            per_channel ? "scales per channel" : "one scale per tensor"));
  }
  if (scales.empty()) {
    throw ValueError("missing_value", fmt::format("quantizer '{}'", name_),
                     "expected a scale per channel, got none");
  }
  for (const float scale : scales) {
    if (!(scale > 0) || std::isinf(scale)) {
      throw ValueError(
          "invalid_value", fmt::format("quantizer '{}'", name_),
          fmt::format("scale must be finite and > 0, got {}", scale));
    }
  }
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
  auto copy = std::make_shared<Quantizer>(name_, config_);
  copy->enabled_ = enabled_;
  copy->frozen_ = frozen_;
  copy->steps_ = steps_;
  copy->range_ = range_;
  if (scale_) copy->put_leaf(scale_.value(), floor_);
  return copy;
}

}  // namespace octet::quant
