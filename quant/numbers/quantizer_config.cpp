#include <algorithm>
#include <iterator>

#include <fmt/format.h>

#include <octet/quant/quantizer.h>
#include <octet/runtime/error.h>

namespace octet::quant {
namespace {

struct RuleName {
  ScaleRule rule;
  std::string_view name;
};
constexpr RuleName kRules[] = {{ScaleRule::fixed, "fixed"},
                               {ScaleRule::live, "live"},
                               {ScaleRule::ema, "ema"},
                               {ScaleRule::last_value, "last_value"},
                               {ScaleRule::learned, "learned"},
                               {ScaleRule::learned_log2, "learned_log2"},
                               {ScaleRule::learned_clip, "learned_clip"},
                               {ScaleRule::learned_affine, "learned_affine"}};

}  // namespace

QuantizerConfig activation_quantizer(NumberFormat format) {
  return {.format = format};
}
QuantizerConfig weight_quantizer(NumberFormat format) {
  return {.format = format,
          .narrow_range = true,
          .per_channel = true,
          .rule = ScaleRule::live};
}

QuantizerConfig int4_weight_quantizer(int64_t block) {
  return {
      .bits = 4, .narrow_range = true, .block = block, .rule = ScaleRule::live};
}

std::string_view to_string(ScaleRule rule) {
  return std::ranges::find(kRules, rule, &RuleName::rule)->name;
}

ScaleRule scale_rule_named(std::string_view name) {
  const auto* found = std::ranges::find(kRules, name, &RuleName::name);
  if (found != std::end(kRules)) return found->rule;
  throw ValueError(
      "invalid_value", "scale rule",
      fmt::format(
          "must be fixed, live, ema, last_value, learned (LSQ), learned_log2 "
          "(TQT), learned_clip (PACT) or learned_affine (LSQ+), got '{}'",
          name));
}

std::string range_text(const QuantizerConfig& c) {
  if (c.format != NumberFormat::integer) {
    return fmt::format("{} [{},{}]", to_string(c.format), c.low(), c.high());
  }
  const std::string codes =
      fmt::format("{}int{} [{},{}]", c.is_signed ? "" : "u", c.bits,
                  c.low() + c.zero_point, c.high() + c.zero_point);
  return c.zero_point == 0 ? codes
                           : fmt::format("{} around {}", codes, c.zero_point);
}

std::string to_string(const QuantizerConfig& c) {
  return fmt::format(
      "{}{} {} {}{}{}", range_text(c), c.asymmetric ? " asymmetric" : "",
      c.block > 0     ? fmt::format("per block of {}", c.block)
      : c.per_channel ? "per channel"
                      : "per tensor",
      to_string(c.rule),
      c.constant_scale > 0 ? fmt::format(" scale {:g}", c.constant_scale) : "",
      c.straight_through == StraightThrough::pass_through ? " pass_through"
                                                          : "");
}

void expect_for_activation(std::string_view subject,
                           const QuantizerConfig& config) {
  if (config.rule != ScaleRule::live && !config.per_channel &&
      config.block == 0) {
    return;
  }
  throw UnsupportedError(
      "unsupported_value", std::string(subject),
      fmt::format("activations need one constant scale per tensor, got {}",
                  to_string(config)));
}

void expect_for_weight(std::string_view subject,
                       const QuantizerConfig& config) {
  if (config.follows() || config.rule == ScaleRule::learned_clip) {
    throw UnsupportedError(
        "unsupported_value", std::string(subject),
        fmt::format("weights need a live, fixed or learned scale, got {}. "
                    "Hint: a live scale follows the weight in every pass",
                    to_string(config)));
  }
  if (config.format == NumberFormat::integer && config.bits > 8) {
    throw UnsupportedError(
        "unsupported_value", std::string(subject),
        fmt::format("weights need at most 8 bits, got {}", to_string(config)));
  }
  if (!config.is_signed) {
    throw UnsupportedError(
        "unsupported_value", std::string(subject),
        fmt::format("weights need a signed range, got {}", to_string(config)));
  }
}

}  // namespace octet::quant
