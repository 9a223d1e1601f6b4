// Scales of a quantizer: the leaf that stores them, their floor, and ranges.
#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <octet/quant/quantizer.h>
#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>

namespace octet::quant {
namespace {

// Floor of learned scales, relative to their initial values.
constexpr float kFloor = 0.01f;

}  // namespace

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

// Clamps scales to their floor, and a learned offset to the range of zero
// points. Logarithms above the floor keep their bits.
void Quantizer::keep_above_floor() const {
  if (floor_.empty()) return;
  if (offset_) {
    const float lowest =
        -static_cast<float>((1 << config_.bits) - 1) * current_scale().item();
    const float offset = offset_.value().item();
    if (offset > 0) put_offset(0);
    if (offset < lowest) put_offset(lowest);
  }
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

void Quantizer::put_offset(float offset) const {
  const Tensor value = Tensor::scalar(offset);
  if (!offset_) {
    offset_ = Variable(value, !frozen_);
  } else {
    offset_.assign(value);
  }
}

// Sets the zero point of a learned offset. NaN leaves it unchanged.
void Quantizer::move_zero_point() const {
  if (!offset_) return;
  const double zero = std::nearbyint(-double{offset_.value().item()} /
                                     double{current_scale().item()});
  const int last = (1 << config_.bits) - 1;
  if (std::isnan(zero)) return;
  const int moved = static_cast<int>(std::clamp(zero, 0.0, last + 0.0));
  // Writes only if the value changes: other threads may read it.
  if (moved != config_.zero_point) config_.zero_point = moved;
}

void Quantizer::set_frozen(bool frozen) {
  frozen_ = frozen;
  if (scale_ && config_.learns()) {
    scale_.set_requires_grad(!frozen);
  }
  if (offset_) offset_.set_requires_grad(!frozen);
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
  if (config_.rule == ScaleRule::learned_affine) {
    put_offset(-static_cast<float>(config_.zero_point) * scale.item());
  }
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

}  // namespace octet::quant
