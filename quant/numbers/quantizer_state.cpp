// Serialization of a quantizer's state.
#include <cmath>
#include <limits>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <octet/quant/quantizer.h>
#include <octet/runtime/error.h>

namespace octet::quant {

Config Quantizer::state() const {
  const auto list = [](std::span<const float> values) {
    return Config::List(values.begin(), values.end());
  };
  Config state;
  state.set("enabled", enabled_);
  if (const auto single = scale()) {
    state.set("scale", *single);
  } else if (scale_) {
    state.set("scales", list(scales()));
  }
  if (scale_ && config_.asymmetric) {
    state.set("zero_point", config().zero_point);
    if (offset_) state.set("offset", offset_.value().item());
    if (range_) state.set("range", Config::List{range_->low, range_->high});
  }
  if (scale_ && config_.rule == ScaleRule::learned_log2) {
    state.set("log2_scales", list(scale_.value().f32()));
  }
  if (!floor_.empty()) state.set("floor", list(std::as_const(floor_).f32()));
  if (frozen_) state.set("frozen", true);
  if (steps_ > 0) state.set("steps", steps_);
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
  with_context(
      [&] { return fmt::format("in quantizer '{}'", name_); },
      [&] {
        const auto floats = [](const Config& list) {
          std::vector<float> values;
          for (const Config& s : list.as_list()) {
            values.push_back(static_cast<float>(s.as_number()));
          }
          return values;
        };
        Quantizer made(name_, config_);
        made.set_enabled(state.at("enabled").as_bool());
        if (const Config* scale = state.find("scale")) {
          made.set_scale(static_cast<float>(scale->as_number()));
        }
        const Config* zero = state.find("zero_point");
        if (config_.asymmetric && zero != nullptr) {
          QuantizerConfig moved = config_;
          moved.zero_point = static_cast<int>(zero->as_int());
          const Quantizer checked(name_, moved);
          made.config_ = moved;
          if (const Config* list = state.find("range")) {
            const std::vector<float> ends = floats(*list);
            if (ends.size() != 2) {
              throw ValueError("count_mismatch",
                               fmt::format("quantizer '{}'", name_),
                               fmt::format("range must have 2 entries, got {}",
                                           ends.size()));
            }
            made.range_ = ValueRange{ends[0], ends[1]};
          }
        }
        if (const Config* list = state.find("scales")) {
          made.set_scales(floats(*list));
        }
        // Restores the exact bits; log2 of the scale would round.
        const Config* logarithms = state.find("log2_scales");
        if (logarithms != nullptr && config_.rule == ScaleRule::learned_log2) {
          const std::vector<float> leaf = floats(*logarithms);
          if (leaf.size() != made.scales().size()) {
            throw ValueError(
                "count_mismatch", fmt::format("quantizer '{}'", name_),
                fmt::format("log2_scales must have {} entries, got {}",
                            made.scales().size(), leaf.size()));
          }
          const Tensor value =
              Tensor::of(made.scale_.shape(), std::span<const float>(leaf));
          const Tensor scale = made.as_scale(value);
          made.check_scales(scale.f32(), config_.per_channel);
          made.put_leaf(value, made.floor_);
        }
        if (const Config* offset = state.find("offset")) {
          const auto value = static_cast<float>(offset->as_number());
          if (!made.offset_ || !std::isfinite(value)) {
            throw ValueError("invalid_value",
                             fmt::format("quantizer '{}'", name_),
                             fmt::format("offset {} requires a finite value "
                                         "and the rule learned_affine",
                                         value));
          }
          made.put_offset(value);
        }
        if (const Config* list = state.find("floor")) {
          const std::vector<float> floor = floats(*list);
          made.check_scales(floor, config_.per_channel);
          if (floor.size() != made.scales().size()) {
            throw ValueError("count_mismatch",
                             fmt::format("quantizer '{}'", name_),
                             fmt::format("floor must have {} entries, got {}",
                                         made.scales().size(), floor.size()));
          }
          made.floor_ =
              Tensor::of(made.scale_.shape(), std::span<const float>(floor));
        }
        if (const Config* frozen = state.find("frozen")) {
          made.frozen_ = frozen->as_bool();
        }
        if (const Config* steps = state.find("steps")) {
          made.steps_ = steps->as_int();
        }
        if (const Config* observer = state.find("observer")) {
          made.start_observing(calibration_options_from_config(*observer));
          if (made.observing()) made.observer_->restore(observer->at("state"));
        }
        enabled_ = made.enabled_;
        steps_ = made.steps_;
        config_ = made.config_;
        range_ = made.range_;
        followed_.clear();
        if (made.scale_) {
          put_leaf(made.scale_.value(), made.floor_);
          if (made.offset_) put_offset(made.offset_.value().item());
        } else {
          offset_ = {};
          scale_ = {};
          floor_ = {};
        }
        set_frozen(made.frozen_);
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
