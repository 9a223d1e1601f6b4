#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include <fmt/format.h>

#include <octet/runtime/error.h>
#include <octet/train/find_learning_rate.h>
#include <octet/train/fit.h>

#include "checks.h"

namespace octet::train {
namespace {

void check_options(const FindLearningRateOptions& options) {
  const char* const subject = "find_learning_rate";
  check_above_zero(subject, "from", options.from);
  check_above_zero(subject, "to", options.to);
  check_positive(subject, "batch_size", options.batch_size);
  if (!(options.to > options.from)) {
    throw ValueError(fmt::format("{}: expected to > from, got {} and {}",
                                 subject, options.to, options.from));
  }
  if (options.steps < 2) {
    throw ValueError(fmt::format("{}: expected at least 2 steps, got {}",
                                 subject, options.steps));
  }
}

/// Keeps the curve, and ends the fit where there is nothing more to see.
class Recorder final : public Callback {
 public:
  Recorder(int64_t steps, LearningRateCurve& curve)
      : steps_(steps), curve_(curve) {}

  void on_epoch_begin(const Progress&) override { total_ = 0; }

  void on_step(const Progress& progress) override {
    // Progress has the mean of the epoch so far.
    const double total = progress.loss * static_cast<double>(progress.samples);
    const auto count = static_cast<double>(progress.samples - samples_);
    const double loss = (total - total_) / count;
    total_ = total;
    samples_ = progress.step < progress.steps ? progress.samples : 0;
    ++count_;
    average_ = kDecay * average_ + (1 - kDecay) * loss;
    const double smooth =
        average_ / (1 - std::pow(kDecay, static_cast<double>(count_)));
    curve_.rates.push_back(static_cast<float>(progress.learning_rate));
    curve_.losses.push_back(smooth);
    lowest_ = std::min(lowest_, smooth);
    if (count_ == steps_ || smooth > 4 * lowest_) progress.training->stop();
  }

 private:
  static constexpr double kDecay = 0.9;
  int64_t steps_;
  LearningRateCurve& curve_;
  int64_t count_ = 0;
  int64_t samples_ = 0;  // of the epoch, before this step
  double total_ = 0;
  double average_ = 0;
  double lowest_ = std::numeric_limits<double>::infinity();
};

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
  Model copy = model.clone();
  const double from = options.from;
  const double growth =
      std::pow(options.to / from, 1.0 / static_cast<double>(options.steps - 1));
  Optimizer optimizer = options.optimizer;
  optimizer.set_learning_rate(1);
  LearningRateCurve curve;
  const int64_t batch_size = std::min(options.batch_size, data.size());
  const int64_t batches =
      batch_size > 0 ? (data.size() - 1) / batch_size + 1 : 1;
  const auto fit_once = [&] {
    (void)fit(copy, data,
              {.epochs = (options.steps - 1) / batches + 1,
               .batch_size = batch_size,
               .optimizer = optimizer,
               .schedule =
                   [&](int64_t step, int64_t) {
                     return static_cast<float>(
                         from * std::pow(growth, static_cast<double>(step)));
                   },
               .seed = options.seed,
               .callbacks = {std::make_shared<Recorder>(options.steps, curve)},
               .verbose = false,
               .loss = options.loss});
  };
  try {
    fit_once();
  } catch (const ValueError&) {
    // The loss is not finite any more: the rates went too far, as they should.
    if (curve.rates.size() < 3) throw;
  }
  curve.suggestion = steepest(curve);
  return curve;
}

}  // namespace octet::train
