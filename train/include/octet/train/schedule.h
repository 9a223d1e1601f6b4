// Learning-rate schedules: factors on the optimizer's rate.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include <octet/runtime/language.h>

namespace octet::train {

/// The factor at `step` of `total` steps, 0 <= step < total.
using Schedule = std::function<float(int64_t step, int64_t total)>;

Schedule constant();

/// What places in a schedule are counted in.
enum class ScheduleUnit {
  steps,
  share,  ///< of all steps: epoch e of E is at e / E
};

/// Fields in order: boundaries, factors, unit
struct PiecewiseOptions {
  std::vector<double> boundaries = {};  ///< rising, above 0
  std::vector<float> factors = {1.0f};  ///< one more than boundaries, >= 0
  ScheduleUnit unit = ScheduleUnit::steps;
};
/// factors[i + 1] from step boundaries[i] on, factors[0] before.
/// Throws: ValueError for other numbers of factors, boundaries that do not
/// rise, or factors that are not finite and >= 0.
Schedule piecewise(const PiecewiseOptions& options);

/// Fields in order: gamma, every, unit
struct DecayOptions {
  float gamma = 0.1f;  ///< the factor after `every`, (0, 1]
  double every = 1;    ///< > 0
  ScheduleUnit unit = ScheduleUnit::steps;
};
/// gamma^floor(step / every). Throws: ValueError for options out of range.
Schedule step_decay(const DecayOptions& options);
/// gamma^(step / every). Throws: as step_decay.
Schedule exponential(const DecayOptions& options);

struct CosineOptions {
  float floor = 0.0f;  ///< the factor at the end, [0, 1]
};
/// floor + (1 - floor) * (1 + cos(pi * step / total)) / 2.
/// Source: Loshchilov and Hutter, SGDR, arXiv 1608.03983, eq. 5.
/// Throws: ValueError for a floor outside [0, 1].
Schedule cosine(const CosineOptions& options = {});

/// Fields in order: length, unit
struct WarmupOptions {
  double length = 0;  ///< >= 0
  ScheduleUnit unit = ScheduleUnit::steps;
};
/// Rises along a line, (step + 1) / (length + 1) of the first factor of
/// `after`, then is `after` over the steps that are left. A warm-up as long as
/// the training never gets to `after`.
/// Source: Goyal et al., arXiv 1706.02677, section 2.2.
/// Throws: ValueError for a length out of range or an empty schedule.
Schedule warmup(const WarmupOptions& options, Schedule after = constant());

}  // namespace octet::train
