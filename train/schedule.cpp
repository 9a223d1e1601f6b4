#include <algorithm>
#include <cmath>
#include <numbers>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include <octet/runtime/error.h>
#include <octet/train/schedule.h>

#include "checks.h"

namespace octet::train {

namespace {

/// Where a place is among the steps.
double in_steps(double place, ScheduleUnit unit, int64_t total) {
  return unit == ScheduleUnit::steps ? place
                                     : place * static_cast<double>(total);
}

/// The first whole step that is not before a place, so that shares such as
/// 0.1 of 30 steps do not miss theirs by a rounding.
int64_t first_step(double place, ScheduleUnit unit, int64_t total) {
  constexpr double kRounding = 1e-9;
  const double at = in_steps(place, unit, total);
  // Beyond all steps, and in the range of the cast.
  if (at >= static_cast<double>(total)) return total;
  return static_cast<int64_t>(std::ceil(at - kRounding * (1 + at)));
}

bool is_finite_from_zero(double value) {
  return value >= 0 && !std::isinf(value);
}

void check_decay_options(std::string_view subject,
                         const DecayOptions& options) {
  if (!(options.gamma > 0.0f && options.gamma <= 1.0f)) {
    throw ValueError(fmt::format("{}: expected gamma in (0,1], got {}", subject,
                                 number_text(options.gamma)));
  }
  if (!is_finite_from_zero(options.every) || options.every == 0) {
    throw ValueError(
        fmt::format("{}: expected a finite 'every' above 0, got {}", subject,
                    number_text(static_cast<float>(options.every))));
  }
}

}  // namespace

Schedule constant() {
  return [](int64_t, int64_t) { return 1.0f; };
}

Schedule cosine(const CosineOptions& options) {
  // Written so that NaN fails, too.
  if (!(options.floor >= 0.0f && options.floor <= 1.0f)) {
    throw ValueError(fmt::format("cosine: expected a floor in [0,1], got {}",
                                 options.floor));
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
    throw ValueError(fmt::format(
        "piecewise: expected one factor more than boundaries, got {} and {}",
        options.factors.size(), options.boundaries.size()));
  }
  double last = 0;
  for (const double boundary : options.boundaries) {
    if (!(boundary > last) || std::isinf(boundary)) {
      throw ValueError(fmt::format(
          "piecewise: expected boundaries that rise from above 0, got {} "
          "after {}",
          number_text(static_cast<float>(boundary)), last));
    }
    last = boundary;
  }
  for (const float factor : options.factors) {
    if (!is_finite_from_zero(double{factor})) {
      throw ValueError(
          fmt::format("piecewise: expected finite factors >= 0, got {}",
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
    // The same rounding as first_step().
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
        fmt::format("warmup: expected a finite length >= 0, got {}",
                    number_text(static_cast<float>(options.length))));
  }
  if (options.unit == ScheduleUnit::share && options.length > 1) {
    throw ValueError(fmt::format(
        "warmup: expected a share in [0,1], got {}. Hint: the unit of steps "
        "is ScheduleUnit::steps",
        options.length));
  }
  if (!after) {
    throw ValueError("warmup: expected a schedule, got an empty function");
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
