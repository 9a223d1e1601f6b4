#include <algorithm>
#include <cmath>
#include <numbers>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include <octet/runtime/error.h>
#include <octet/train/learning_rate.h>

#include "checks.h"

namespace octet::train {

namespace {

/// Converts a position to steps.
double in_steps(double place, ScheduleUnit unit, int64_t total) {
  return unit == ScheduleUnit::steps ? place
                                     : place * static_cast<double>(total);
}

/// Returns the first step at or after a position, with a tolerance for the
/// rounding of shares such as 0.1 of 30 steps.
int64_t first_step(double place, ScheduleUnit unit, int64_t total) {
  constexpr double kRounding = 1e-9;
  const double at = in_steps(place, unit, total);
  // Keeps the cast in range.
  if (at >= static_cast<double>(total)) return total;
  return static_cast<int64_t>(std::ceil(at - kRounding * (1 + at)));
}

bool is_finite_from_zero(double value) {
  return value >= 0 && !std::isinf(value);
}

void check_decay_options(std::string_view subject,
                         const DecayOptions& options) {
  if (!(options.gamma > 0.0f && options.gamma <= 1.0f)) {
    throw ValueError("out_of_range", subject,
                     fmt::format("gamma must be in (0, 1], got {}",
                                 number_text(options.gamma)));
  }
  if (!is_finite_from_zero(options.every) || options.every == 0) {
    throw ValueError(
        "out_of_range", subject,
        fmt::format("every must be finite and positive, got {}",
                    number_text(static_cast<float>(options.every))));
  }
}

}  // namespace

Schedule constant() {
  return [](int64_t, int64_t) { return 1.0f; };
}

Schedule cosine(const CosineOptions& options) {
  // Rejects NaN, too.
  if (!(options.floor >= 0.0f && options.floor <= 1.0f)) {
    throw ValueError("out_of_range", "cosine",
                     fmt::format("floor must be in [0, 1], got {}",
                                 number_text(options.floor)));
  }
  return [floor = double{options.floor}](int64_t step, int64_t total) {
    const double angle = std::numbers::pi * static_cast<double>(step) /
                         static_cast<double>(total);
    return static_cast<float>(floor +
                              (1.0 - floor) * (1.0 + std::cos(angle)) / 2.0);
  };
}

Schedule piecewise(const PiecewiseOptions& options) {
  if (options.factors.size() != options.boundaries.size() + 1) {
    throw ValueError(
        "count_mismatch", "piecewise",
        fmt::format("{} boundaries require {} factors, got {}",
                    options.boundaries.size(), options.boundaries.size() + 1,
                    options.factors.size()));
  }
  double last = 0;
  for (const double boundary : options.boundaries) {
    if (!(boundary > last) || std::isinf(boundary)) {
      throw ValueError(
          "invalid_value", "piecewise",
          fmt::format("boundaries must be positive and ascending, got {} "
                      "after {}",
                      number_text(static_cast<float>(boundary)), last));
    }
    last = boundary;
  }
  for (const float factor : options.factors) {
    if (!is_finite_from_zero(double{factor})) {
      throw ValueError(
          "out_of_range", "piecewise",
          fmt::format("factors must be finite and at least 0, got {}",
                      number_text(factor)));
    }
  }
  return [options](int64_t step, int64_t total) {
    size_t piece = 0;
    while (piece < options.boundaries.size() &&
           step >= first_step(options.boundaries[piece], options.unit, total)) {
      ++piece;
    }
    return options.factors[piece];
  };
}

Schedule step_decay(const DecayOptions& options) {
  check_decay_options("step_decay", options);
  return [options](int64_t step, int64_t total) {
    const double every = in_steps(options.every, options.unit, total);
    // Same tolerance as first_step().
    const double stairs =
        std::floor(static_cast<double>(step) / every * (1 + 1e-9));
    return static_cast<float>(std::pow(double{options.gamma}, stairs));
  };
}

Schedule exponential(const DecayOptions& options) {
  check_decay_options("exponential", options);
  return [options](int64_t step, int64_t total) {
    const double every = in_steps(options.every, options.unit, total);
    return static_cast<float>(
        std::pow(double{options.gamma}, static_cast<double>(step) / every));
  };
}

Schedule warmup(const WarmupOptions& options, Schedule after) {
  if (!is_finite_from_zero(options.length)) {
    throw ValueError(
        "out_of_range", "warmup",
        fmt::format("length must be finite and at least 0, got {}",
                    number_text(static_cast<float>(options.length))));
  }
  if (options.unit == ScheduleUnit::share && options.length > 1) {
    throw ValueError(
        "out_of_range", "warmup",
        fmt::format("length must be in [0, 1] as a share of all steps, got {}. "
                    "Hint: set .unit = ScheduleUnit::steps for a number of "
                    "steps",
                    options.length));
  }
  if (!after) {
    throw ValueError("missing_value", "warmup",
                     "the schedule must not be an empty function");
  }
  return [options, after = std::move(after)](int64_t step, int64_t total) {
    const int64_t length = first_step(options.length, options.unit, total);
    if (step >= length) return after(step - length, total - length);
    const double share =
        static_cast<double>(step + 1) / static_cast<double>(length + 1);
    const int64_t left = std::max<int64_t>(total - length, 1);
    return static_cast<float>(share * double{after(0, left)});
  };
}

}  // namespace octet::train
