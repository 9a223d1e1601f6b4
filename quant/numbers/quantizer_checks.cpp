#include "numbers/quantizer_checks.h"

#include <cmath>

#include <fmt/format.h>

#include <octet/runtime/error.h>

namespace octet::quant {
namespace {

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
  if (!config.asymmetric) {
    if (config.rule != ScaleRule::learned_affine) return;
    throw ValueError("conflicting_options", fmt::format("quantizer '{}'", name),
                     "learned_affine requires `.asymmetric = true`");
  }
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

void check_quantizer(std::string_view name, const QuantizerConfig& config) {
  check_format(name, config);
  check_block(name, config);
  if (!(config.ema_rate > 0 && config.ema_rate <= 1)) {
    throw ValueError(
        "out_of_range", fmt::format("quantizer '{}'", name),
        fmt::format("ema_rate must be in (0,1], got {}", config.ema_rate));
  }
  if (!(config.scale_rate > 0 && config.scale_rate <= 1)) {
    throw ValueError(
        "out_of_range", fmt::format("quantizer '{}'", name),
        fmt::format("scale_rate must be in (0,1], got {}", config.scale_rate));
  }
  if (!(config.clip_decay >= 0 && config.clip_decay < 1)) {
    throw ValueError(
        "out_of_range", fmt::format("quantizer '{}'", name),
        fmt::format("clip_decay must be in [0,1), got {}", config.clip_decay));
  }
  if (config.freeze_step < 0) {
    throw ValueError(
        "out_of_range", fmt::format("quantizer '{}'", name),
        fmt::format("freeze_step must be >= 0, got {}", config.freeze_step));
  }
  check_asymmetric(name, config);
  check_constant(name, config);
  check_zero_point(name, config);
}

}  // namespace octet::quant
