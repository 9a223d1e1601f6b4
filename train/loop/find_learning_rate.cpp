#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <octet/quant/calibrate.h>
#include <octet/runtime/error.h>
#include <octet/train/data_loader.h>
#include <octet/train/learning_rate.h>

#include "checks.h"
#include "losses/batch_loss.h"
#include "losses/label_check.h"
#include "trained_outputs.h"

namespace octet::train {
namespace {

constexpr const char* kSubject = "find_learning_rate";

void check_options(const FindLearningRateOptions& options) {
  check_above_zero(kSubject, "from", options.from);
  check_above_zero(kSubject, "to", options.to);
  check_positive(kSubject, "batch_size", options.batch_size);
  if (!(options.to > options.from)) {
    throw ValueError("out_of_range", kSubject,
                     fmt::format("to must be greater than from, got {} and {}",
                                 options.to, options.from));
  }
  if (options.steps < 10) {
    throw ValueError(
        "out_of_range", kSubject,
        fmt::format("steps must be at least 10, got {}", options.steps));
  }
}

/// Exponential moving average with bias correction.
class Smoothed {
 public:
  double add(double loss) {
    average_ = kDecay * average_ + (1 - kDecay) * loss;
    weight_ *= kDecay;
    return average_ / (1 - weight_);
  }

 private:
  static constexpr double kDecay = 0.9;
  double average_ = 0;
  double weight_ = 1;  // weight of the initial 0
};

/// Returns the descent of the loss so far.
double fall_of(const LearningRateCurve& curve) {
  return curve.losses[0] - std::ranges::min(curve.losses);
}

bool diverges(const LearningRateCurve& curve) {
  const double first = curve.losses[0];
  const double rise = curve.losses.back() - first;
  // Batches differ: even at small learning rates the loss fluctuates.
  return rise > std::max(fall_of(curve), std::abs(first));
}

/// Returns the learning rate of the steepest descent, from linear fits over a
/// sixth of the curve, which smooth the differences between batches.
float steepest(const LearningRateCurve& curve) {
  const auto count = static_cast<int64_t>(curve.losses.size());
  const int64_t reach = std::max<int64_t>(1, count / 12);
  int64_t best = 0;
  double fall = 0;
  for (int64_t i = reach; i + reach < count; ++i) {
    double slope = 0;  // up to a constant factor
    for (int64_t k = -reach; k <= reach; ++k) {
      slope +=
          static_cast<double>(k) * curve.losses[static_cast<size_t>(i + k)];
    }
    if (slope < fall) {
      fall = slope;
      best = i;
    }
  }
  return curve.rates[static_cast<size_t>(best)];
}

}  // namespace

LearningRateCurve find_learning_rate(const Model& model, const Dataset& data,
                                     const FindLearningRateOptions& options) {
  check_options(options);
  const TrainedOutputs trained(kSubject, model, options.loss, {});
  const Dataset matched = trained.matched(kSubject, model, data);
  quant::expect_calibrated(kSubject, model);
  Model copy = model.clone();
  Optimizer optimizer = options.optimizer.fresh();
  optimizer.attach(copy.trainable_variables());
  const double from = options.from;
  const double growth =
      std::pow(options.to / from, 1.0 / static_cast<double>(options.steps - 1));
  LearningRateCurve curve;
  Smoothed smoothed;
  int64_t step = 0;
  bool ended = false;
  for (int64_t epoch = 0; !ended; ++epoch) {
    const EpochLoader loader(matched, {.batch_size = options.batch_size,
                                       .seed = options.seed,
                                       .epoch = epoch});
    for (const Batch& batch : loader) {
      check_batch_labels(kSubject, copy, batch, trained);
      const double value = loss_and_gradients(copy, batch, trained);
      ended = !std::isfinite(value);
      if (ended) break;
      const double rate = from * std::pow(growth, static_cast<double>(step));
      optimizer.set_learning_rate(static_cast<float>(rate));
      optimizer.step();
      curve.rates.push_back(optimizer.learning_rate());
      curve.losses.push_back(smoothed.add(value));
      ended = ++step == options.steps || diverges(curve);
      if (ended) break;
    }
  }
  if (curve.losses.empty() ||
      !(fall_of(curve) > 0.01 * std::abs(curve.losses[0]))) {
    throw ValueError(
        "no_descent", kSubject,
        fmt::format("no learning rate in [{}, {}] lowered the loss in {} "
                    "steps. Hint: stable_rate() suits a trained model",
                    options.from, options.to, step));
  }
  curve.suggestion = steepest(curve);
  return curve;
}

}  // namespace octet::train
