#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

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

constexpr const char* kSubject = "stable_rate";
/// A single step is less harmful than a training at the same learning rate.
constexpr float kMargin = 4;

void check_options(const StableRateOptions& options) {
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

/// Tracks the loss on a fixed set of samples.
class Probe {
 public:
  Probe(const Model& model, Batch batch, const TrainedOutputs& trained)
      : batch_(std::move(batch)), trained_(trained) {
    check_batch_labels(kSubject, model, batch_, trained_);
    first_ = lowest_ = measure(model);
    if (std::isfinite(first_)) return;
    throw ValueError("not_finite", kSubject,
                     "the initial loss of the model is not finite");
  }

  /// Whether the loss rose above its minimum by more than kRise of its initial
  /// value.
  bool breaks(const Model& model) {
    const double loss = measure(model);
    if (!(loss - lowest_ <= kRise * std::abs(first_))) return true;
    lowest_ = std::min(lowest_, loss);
    return false;
  }

 private:
  static constexpr double kRise = 0.5;

  double measure(const Model& model) const {
    const NoGradGuard no_grad;
    const std::vector<Tensor> outputs = model.predict(batch_.inputs);
    return trained_.loss({outputs.begin(), outputs.end()}, batch_).sum /
           static_cast<double>(batch_.size());
  }

  Batch batch_;
  const TrainedOutputs& trained_;
  double first_ = 0;
  double lowest_ = 0;
};

}  // namespace

float stable_rate(const Model& model, const Dataset& data,
                  const StableRateOptions& options) {
  check_options(options);
  const TrainedOutputs trained(kSubject, model, options.loss, {});
  const Dataset matched = trained.matched(kSubject, model, data);
  quant::expect_calibrated(kSubject, model);
  const int64_t size = matched.size();
  const Dataset samples = matched.sample(std::min(size, 2 * options.batch_size),
                                         {.seed = options.seed});
  Model copy = model.clone();
  Probe probe(copy, samples.batch(0, samples.size()), trained);
  Optimizer optimizer = options.optimizer.fresh();
  optimizer.attach(copy.trainable_variables());
  const double growth = std::pow(options.to / double{options.from},
                                 1.0 / static_cast<double>(options.steps - 1));
  double rate = options.from;
  // Whether a step at the current learning rate is stable.
  const auto bears = [&](const Batch& batch) {
    check_batch_labels(kSubject, copy, batch, trained);
    if (!std::isfinite(loss_and_gradients(copy, batch, trained))) return false;
    optimizer.set_learning_rate(static_cast<float>(rate));
    optimizer.step();
    return !probe.breaks(copy);
  };
  int64_t step = 0;
  for (int64_t epoch = 0; step < options.steps; ++epoch) {
    const EpochLoader loader(matched,
                             {.batch_size = std::min(size, options.batch_size),
                              .seed = options.seed,
                              .epoch = epoch});
    for (const Batch& batch : loader) {
      if (!bears(batch)) return static_cast<float>(rate) / kMargin;
      rate *= growth;
      if (++step == options.steps) break;
    }
  }
  return options.to / kMargin;
}

}  // namespace octet::train
