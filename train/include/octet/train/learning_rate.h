// Learning rate schedules: multipliers of the optimizer's learning rate.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include <octet/layers/model.h>
#include <octet/runtime/dataset.h>
#include <octet/runtime/detail/language.h>
#include <octet/train/loss.h>
#include <octet/train/optimizer.h>

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

// Search for a learning rate.

// find_learning_rate: learning rate range test, suggests an initial learning
// rate.

/// Options of find_learning_rate().
/// Fields in order: from, to, steps, batch_size, optimizer, loss, seed
struct FindLearningRateOptions {
  float from = 1e-6f;       ///< lowest learning rate, > 0
  float to = 1.0f;          ///< highest learning rate, > from
  int64_t steps = 100;      ///< from `from` to `to` by equal factors, >= 10
  int64_t batch_size = 64;  ///< samples per step, >= 1
  /// Only its update rule is used; its learning rate, state and parameters are
  /// ignored and unchanged.
  Optimizer optimizer = Adam();
  /// Loss of a single output, or of several outputs: see Losses.
  Losses loss = losses::sparse_categorical_cross_entropy();
  uint64_t seed = 0;  ///< of the shuffling
};

/// Loss of a training with rising learning rates.
struct LearningRateCurve {
  std::vector<float> rates;  ///< learning rate of each step, ascending
  /// Batch loss before each step, smoothed by an exponential moving average
  /// with decay 0.9 and bias correction.
  std::vector<double> losses;
  /// Learning rate with the steepest descent of the smoothed loss over the
  /// logarithm of the rate: a first choice.
  float suggestion = 0;
};

/// Trains a copy of the model with rising learning rates. Stops at `to`, at a
/// loss that is not finite, or when the smoothed loss exceeds its first value
/// by the larger of that value and its descent so far.
/// Source: Smith, "Cyclical learning rates for training neural networks",
/// arXiv 1506.01186, section 3.3.
/// Throws: ValueError for options out of range, a quantized model without
/// calibration, data that does not match the model, or if no learning rate
/// lowers the loss by 1 % of its first value; errors of the data source.
LearningRateCurve find_learning_rate(
    const Model& model, const Dataset& data,
    const FindLearningRateOptions& options = {});

// stable_rate: largest stable learning rate of a trained model, from which a
// learning rate for fine-tuning is derived.
//
//   const float rate = train::stable_rate(int8, data, {.optimizer = SGD()});
//   // Fine-tune at a share of it: 1 % for INT8.

/// Options of stable_rate().
/// Fields in order: from, to, steps, batch_size, optimizer, loss, seed
struct StableRateOptions {
  float from = 1e-6f;  ///< lowest learning rate, > 0
  float to = 1.0f;     ///< highest learning rate, > from
  int64_t steps = 40;  ///< from `from` to `to` by equal factors, >= 10
  /// Number of samples per step, >= 1; twice as many evaluate the loss after
  /// each step. Limited to the number of samples.
  int64_t batch_size = 32;
  /// Only its update rule is used; its learning rate, state and parameters are
  /// ignored and unchanged.
  Optimizer optimizer = Adam();
  /// Loss of a single output, or of several outputs: see Losses.
  Losses loss = losses::sparse_categorical_cross_entropy();
  uint64_t seed = 0;  ///< for the selection of samples
};

/// Trains a copy of the model with rising learning rates, evaluates a fixed set
/// of samples after each step, and returns a quarter of the first learning rate
/// that raises the loss above its minimum by half of its initial value: `to` /
/// 4 if none does, `from` / 4 if the lowest does. find_learning_rate() requires
/// a descending loss, which a trained model does not have. Deterministic for
/// any number of threads. Source: Smith, "Cyclical learning rates for training
/// neural networks", arXiv 1506.01186, section 3.3. Throws: ValueError for
/// options out of range, a quantized model without calibration, data that does
/// not match the model, or an initial loss that is not finite; errors of the
/// data source.
float stable_rate(const Model& model, const Dataset& data,
                  const StableRateOptions& options = {});

}  // namespace octet::train
