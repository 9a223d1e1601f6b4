#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <octet/quant/qat.h>
#include <octet/runtime/error.h>
#include <octet/train/find_learning_rate.h>
#include <octet/train/loader.h>

#include "batch_loss.h"
#include "checks.h"
#include "label_check.h"
#include "trained_outputs.h"

namespace octet::train {
namespace {

constexpr const char* kSubject = "find_learning_rate";

void check_options(const FindLearningRateOptions& options) {
  check_above_zero(kSubject, "from", options.from);
  check_above_zero(kSubject, "to", options.to);
  check_positive(kSubject, "batch_size", options.batch_size);
  if (!(options.to > options.from)) {
    throw ValueError(fmt::format("{}: expected to > from, got {} and {}",
                                 kSubject, options.to, options.from));
  }
  if (options.steps < 10) {
    throw ValueError(fmt::format("{}: expected at least 10 steps, got {}",
                                 kSubject, options.steps));
  }
}

/// The smoothed loss from step to step.
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
  double weight_ = 1;  // of what was before the first
};

/// How far the losses have fallen.
double fall_of(const LearningRateCurve& curve) {
  return curve.losses[0] - std::ranges::min(curve.losses);
}

bool diverges(const LearningRateCurve& curve) {
  const double first = curve.losses[0];
  const double rise = curve.losses.back() - first;
  // Batches differ: at small rates it goes up and down by itself.
  return rise > std::max(fall_of(curve), std::abs(first));
}

/// By lines through a sixth of the curve each: batches differ in their loss.
float steepest(const LearningRateCurve& curve) {
  const auto count = static_cast<int64_t>(curve.losses.size());
  const int64_t reach = std::max<int64_t>(1, count / 12);
  int64_t best = 0;
  double fall = 0;
  for (int64_t i = reach; i + reach < count; ++i) {
    double slope = 0;  // times a constant
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
    const Loader loader(matched, {.batch_size = options.batch_size,
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
    throw ValueError(fmt::format(
        "{}: expected a loss that falls at some rate in [{},{}], got none in "
        "{} steps",
        kSubject, options.from, options.to, step));
  }
  curve.suggestion = steepest(curve);
  return curve;
}

}  // namespace octet::train
