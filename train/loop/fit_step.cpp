// FitRun: processing of a batch.
#include <cmath>
#include <string>
#include <utility>

#include <fmt/format.h>

#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>
#include <octet/runtime/parallel.h>
#include <octet/train/optimizer.h>

#include "checks.h"
#include "distributed/all_gather_or_throw.h"
#include "distributed/gradient_squares.h"
#include "fit_run.h"
#include "losses/label_check.h"

namespace octet::train {

/// Multiplies sample weights by class weights.
void FitRun::weight_classes(Batch& batch) const {
  if (options_.class_weights.empty()) return;
  const auto labels = std::as_const(batch.label()).data<int64_t>();
  Tensor weights = Tensor::full(batch.label().shape(), 1.0f);
  const auto to = weights.f32();
  for (size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] < 0 || labels[i] >= std::ssize(options_.class_weights)) {
      throw ValueError(
          "out_of_range", "fit",
          fmt::format("labels must be in [0, {}) for class_weights, got {}",
                      options_.class_weights.size(), labels[i]));
    }
    to[i] = options_.class_weights[static_cast<size_t>(labels[i])];
    if (!batch.weights.empty()) to[i] *= std::as_const(batch.weights).f32()[i];
  }
  batch.weights = weights;
}

/// Runs forward, loss and backward for a batch or a shard. `share` scales the
/// gradient. Throws: ValueError if the loss is not finite.
BatchSums FitRun::compute_gradients(Batch batch, float share,
                                    const GradientReceiver* receive) {
  const auto place = [this] {
    return fmt::format("at step {} of epoch {}", progress_.step,
                       progress_.epoch + 1);
  };
  const auto frame = [&place] { return place() + " of fit"; };
  const auto count = static_cast<double>(batch.size());
  BatchSums result;
  Variable loss;
  with_context(frame, [&] {
    check_batch_labels("fit", model_, batch, trained_);
    weight_classes(batch);
    // Batch statistics would spread them to the losses of all shards.
    if (cross_shard_reduction() != nullptr) expect_finite_inputs(batch);
    const std::vector<Variable> inputs(batch.inputs.begin(),
                                       batch.inputs.end());
    const std::vector<Variable> outputs = model_(inputs, Mode::training);
    const BatchLoss of_batch = trained_.loss(outputs, batch);
    result.loss = of_batch.sum;
    loss = of_batch.mean;
    if (const Variable regularization = model_.regularization_loss()) {
      result.regularization = count * double{regularization.value().item()};
      loss = add(loss, regularization);
    }
    std::vector<Tensor> values;
    for (const Variable& output : outputs) values.push_back(output.value());
    if (step_->whole()) {
      sums_.add(values, batch, of_batch);
    } else {
      MetricSums own(trained_);
      own.add(values, batch, of_batch);
      result.metrics = own.sums();
    }
  });
  const double mean = result.mean(count);
  if (!std::isfinite(mean)) {
    throw ValueError(
        "not_finite", "loss",
        fmt::format("{} {}: {}", number_text(static_cast<float>(mean)), place(),
                    explain_bad_loss(model_, batch)));
  }
  with_context(frame, [&] {
    const Variable part = share == 1.0f ? loss : scale_shift(loss, share);
    if (receive != nullptr) {
      part.backward(*receive);
    } else if (updates_in_backward()) {
      training_.optimizer().minimize(part, rate_factor_,
                                     MissingGradients::ignore);
    } else {
      part.backward();
    }
  });
  return result;
}

/// Adds the gradient of the next batch, which has `samples` of the `together`
/// samples of the step. Returns its mean loss.
double FitRun::add_batch(EpochLoader::Iterator& next, int64_t samples,
                         int64_t together) {
  const BatchSums sums = step_->add_batch(
      samples, [&](int64_t size, const GradientReceiver* receive) {
        const Batch batch = *next;
        ++next;
        if (size == 0) return BatchSums();
        return compute_gradients(
            batch, static_cast<float>(size) / static_cast<float>(together),
            receive);
      });
  if (!step_->whole()) {
    std::vector<double> metrics = sums_.sums();
    for (size_t i = 0; i < metrics.size(); ++i) metrics[i] += sums.metrics[i];
    sums_.set(std::move(metrics), progress_.samples + samples);
  }
  return sums.mean(static_cast<double>(samples));
}

/// Whether the backward pass may update each parameter: nothing needs the
/// gradients of all of them.
bool FitRun::updates_in_backward() const {
  return step_->whole() && options_.accumulate == 1 &&
         options_.clip_norm == 0 && options_.clip_value == 0 &&
         !options_.gradient_norm;
}

void FitRun::move_parameters() {
  if (updates_in_backward()) return;
  step_->deliver();
  const std::span<const Variable> owned = step_->owned();
  if (options_.gradient_norm) {
    state_.norm_total += step_->gradient_norm();
    ++state_.norm_count;
  }
  if (options_.clip_value > 0) {
    limit_gradient_values(owned, options_.clip_value);
  }
  if (options_.clip_norm > 0) {
    limit_gradients(owned, step_->gradient_norm(), options_.clip_norm);
  }
  // A custom update rule may throw on some ranks only. A rank has no gradients
  // if all its parameters belong to outputs without a loss.
  run_on_all(ranks_, [this] {
    training_.optimizer().step(rate_factor_, MissingGradients::ignore);
  });
  step_->share();
}

}  // namespace octet::train
