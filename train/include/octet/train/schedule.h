// Learning rate schedules: multipliers of the optimizer's learning rate.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include <octet/runtime/detail/language.h>

namespace octet::train {

/// Returns the factor for `step` of `total` steps, 0 <= step < total.
using Schedule = std::function<float(int64_t step, int64_t total)>;

/// Factor 1 at every step.
Schedule constant();

/// Unit of positions in a schedule.
enum class ScheduleUnit {
  steps,  ///< optimizer steps
  share,  ///< share of all steps: epoch e of E begins at e / E
};

/// Options of piecewise().
/// Fields in order: boundaries, factors, unit
struct PiecewiseOptions {
  std::vector<double> boundaries = {};  ///< ascending, > 0
  std::vector<float> factors = {1.0f};  ///< boundaries.size() + 1, each >= 0
  ScheduleUnit unit = ScheduleUnit::steps;  ///< of `boundaries`
};
/// factors[0] before boundaries[0], factors[i + 1] from boundaries[i] on.
/// Throws: ValueError for a wrong number of factors, boundaries that do not
/// ascend, or factors that are not finite and >= 0.
Schedule piecewise(const PiecewiseOptions& options);

/// Options of step_decay() and exponential().
/// Fields in order: gamma, every, unit
struct DecayOptions {
  float gamma = 0.1f;                       ///< factor per interval, (0, 1]
  double every = 1;                         ///< length of an interval, > 0
  ScheduleUnit unit = ScheduleUnit::steps;  ///< of `every`
};
/// gamma^floor(step / every). Throws: ValueError for options out of range.
Schedule step_decay(const DecayOptions& options);
/// gamma^(step / every). Throws: as step_decay().
Schedule exponential(const DecayOptions& options);

/// Options of cosine().
struct CosineOptions {
  float floor = 0.0f;  ///< final factor, [0, 1]
};
/// floor + (1 - floor) * (1 + cos(pi * step / total)) / 2.
/// Source: Loshchilov and Hutter, SGDR, arXiv 1608.03983, eq. 5.
/// Throws: ValueError for a floor outside [0, 1].
Schedule cosine(const CosineOptions& options = {});

/// Options of warmup().
/// Fields in order: length, unit
struct WarmupOptions {
  double length = 0;  ///< duration of the warm-up, >= 0; as a share, <= 1
  ScheduleUnit unit = ScheduleUnit::steps;  ///< of `length`
};
/// Linear warm-up: (step + 1) / (length + 1) times the first factor of `after`,
/// then `after` over the remaining steps. A warm-up as long as the training
/// never reaches `after`.
/// Source: Goyal et al., arXiv 1706.02677, section 2.2.
/// Throws: ValueError for a length out of range or an empty schedule.
Schedule warmup(const WarmupOptions& options, Schedule after = constant());

}  // namespace octet::train
