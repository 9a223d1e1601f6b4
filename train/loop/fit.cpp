#include <algorithm>
#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

#include <fmt/format.h>

#include <octet/quant/calibrate.h>
#include <octet/quant/wrapper.h>
#include <octet/runtime/error.h>
#include <octet/runtime/parallel.h>
#include <octet/train/evaluate.h>
#include <octet/train/fit.h>

#include "callbacks/monitor.h"
#include "checks.h"
#include "distributed/bytes.h"
#include "distributed/compare_ranks.h"
#include "fit_run.h"

namespace octet::train {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

std::vector<Variable> trainable_parameters(const Model& model) {
  std::vector<Variable> found = model.trainable_variables();
  if (found.empty()) {
    throw ValueError("no_gradient", fmt::format("model '{}'", model.name()),
                     "no trainable parameters. Hint: unfreeze a layer with "
                     "set_trainable(true)");
  }
  return found;
}

}  // namespace

FitRun::FitRun(Model& model, const Dataset& data, const FitOptions& options)
    : model_(model),
      options_(options),
      trained_("fit", model, options.loss, options.metrics),
      data_(check_and_split(model, data, trained_, options)),
      batch_size_(batch_size_of(data_.training, options)),
      training_(model, options.optimizer,
                log_names(trained_, data_.validation.has_value(),
                          options.gradient_norm)),
      sums_(trained_),
      ranks_(options.communicator != nullptr ? *options.communicator : alone_) {
  check_monitored(options.callbacks, training_.names());
  check_shard_sizes(model, options, batch_size_, data_.training.size());
  progress_.epochs = options.epochs;
  progress_.steps = (data_.training.size() - 1) / batch_size_ + 1;
  (void)loader(0);  // checks the options
  progress_.training = &training_;
  updates_ = (progress_.steps - 1) / options.accumulate + 1;
  int64_t total = 0;
  if (__builtin_mul_overflow(options.epochs, updates_, &total)) {
    throw ValueError("out_of_range", "fit",
                     fmt::format("epochs times steps per epoch must fit in 64 "
                                 "bits, got {} epochs of {} steps",
                                 options.epochs, updates_));
  }
}

void FitRun::clear_gradients() const {
  for (const Variable& parameter : parameters_) parameter.zero_grad();
}

EpochLoader FitRun::loader(int64_t epoch) const {
  const int64_t shards = shards_of(options_);
  const int64_t own = shards / ranks_.size();
  return EpochLoader(data_.training, {.batch_size = batch_size_,
                                      .seed = options_.seed,
                                      .epoch = epoch,
                                      .augmentation = options_.augmentation,
                                      .prefetch = options_.prefetch,
                                      .workers = options_.workers,
                                      .shards = shards,
                                      .first_shard = own * ranks_.rank(),
                                      .last_shard = own * (ranks_.rank() + 1)});
}

void FitRun::calibrate() {
  if (options_.calibrate &&
      (!quant::is_quantized(model_) || quant::needs_calibration(model_))) {
    train::calibrate(model_, data_.training, ranks_, *options_.calibrate);
  }
  quant::expect_calibrated("fit", model_);
}

void FitRun::begin() {
  pruned_.emplace(model_);
  if (options_.preserve_zeros && pruned_->kernels().empty()) {
    throw ValueError("conflicting_options", "preserve_zeros",
                     fmt::format("model '{}' has no pruned kernel (20 % or "
                                 "more zeros). Hint: prune it first, for "
                                 "example with octet sparsify",
                                 model_.name()));
  }
  expect_equal_ranks(ranks_, model_, options_, data_, batch_size_, trained_,
                     updates_);
  // A checkpoint restores scales, but learned scales must exist before: they
  // are among the parameters that it restores.
  const bool early = quant::learns_scales(model_);
  if (early) calibrate();
  FitCheckpoints& checkpoints = checkpoints_.emplace(
      model_, options_, data_, batch_size_, trained_, updates_, ranks_);
  progress_.resumed = checkpoints.resumes();
  if (!checkpoints.resumes()) {
    if (!early) calibrate();
    if (!options_.update_statistics_later) {
      warn_of_slow_statistics(model_, options_.epochs * progress_.steps);
      warn_of_averaged_weights(model_, options_.callbacks);
    }
  }
  parameters_ = trainable_parameters(model_);
  run_on_all(ranks_, [this] {
    step_.emplace(model_, ranks_, shards_of(options_),
                  options_.batch_statistics, parameters_);
  });
  warn_of_scale_steps(model_, options_);
  call(&Callback::on_train_begin);
  // An earlier fit that was aborted may have left gradients.
  clear_gradients();
  training_.optimizer().attach({step_->owned().begin(), step_->owned().end()});
  state_.metric_sums = sums_.sums();
  if (checkpoints.resumes()) {
    resume();
  } else {
    checkpoints.begin(training_, state_);
  }
}

/// Runs the callbacks of this rank and exchanges their requests with all ranks.
void FitRun::call(void (Callback::*event)(const Progress&)) {
  const auto results = all_gather_or_throw(ranks_, [&] {
    for (const auto& callback : options_.callbacks) {
      if (ranks_.rank() > 0 && callback->on_first_rank_only()) continue;
      ((*callback).*event)(progress_);
    }
    BytesWriter bytes;
    bytes.add_value(
        CallbackRequests{training_.stopped(), interrupt_.requested(),
                         checkpoints_ && checkpoints_->wanted(training_),
                         training_.optimizer().learning_rate()});
    return bytes.take();
  });
  requests_ = {};
  for (const std::string& text : results) {
    const auto requests = BytesReader(text).value<CallbackRequests>();
    if (requests.stop && !training_.stopped()) training_.stop();
    requests_.interrupted |= requests.interrupted;
  }
  const auto first = BytesReader(results[0]).value<CallbackRequests>();
  for (size_t rank = 1; rank < results.size(); ++rank) {
    const float rate =
        BytesReader(results[rank]).value<CallbackRequests>().rate;
    if (rate == first.rate) continue;
    throw ValueError(
        "invalid_state", "fit",
        fmt::format("learning rates differ: {} on rank 0, {} on rank {}. Hint: "
                    "callbacks must set the learning rate on every rank",
                    first.rate, rate, rank));
  }
  requests_.save = first.save;
}

void FitRun::expect_no_interrupt() const {
  if (!requests_.interrupted) return;
  clear_gradients();
  throw InterruptedError(
      "interrupted", "fit",
      fmt::format("interrupted after step {} of epoch {}; {}", progress_.step,
                  progress_.epoch + 1,
                  options_.checkpoints == nullptr
                      ? "no checkpoint was saved. Hint: set .checkpoints to be "
                        "able to resume"
                  : checkpoints_->saved()
                      ? fmt::format("a checkpoint was saved in '{}'. Hint: "
                                    "resume with .resume = true",
                                    options_.checkpoints->name())
                      : fmt::format("the checkpoint could not be saved in '{}'",
                                    options_.checkpoints->name())));
}

void FitRun::resume() {
  checkpoints_->restore(training_, state_, step_->first_owned());
  sums_.set(state_.metric_sums, progress_.samples);
  show_means();
  call(&Callback::on_resume);
}

void FitRun::show_means() {
  if (progress_.samples == 0) return;
  progress_.loss = state_.loss_total / static_cast<double>(progress_.samples);
  progress_.metrics = sums_.values();
  if (options_.gradient_norm) {
    // NaN before the first step.
    progress_.gradient_norm =
        state_.norm_total / static_cast<double>(state_.norm_count);
  }
  progress_.accuracy = accuracy_of(progress_.metrics);
}

void FitRun::choose_rate() {
  const Optimizer& optimizer = training_.optimizer();
  rate_factor_ =
      options_.schedule(optimizer.steps(), progress_.epochs * updates_);
  state_.schedule.add(rate_factor_);
  progress_.learning_rate =
      double{optimizer.learning_rate()} * double{rate_factor_};
}

void FitRun::finish_epoch() {
  // The loss of the next step would reveal it, but the last epoch has no next
  // step.
  if (const std::string name = first_bad_parameter(model_); !name.empty()) {
    throw ValueError(
        "not_finite", fmt::format("parameter '{}'", name),
        fmt::format("not finite after epoch {}. Hint: lower the learning rate",
                    progress_.epoch + 1));
  }
  EpochResult result{.loss = progress_.loss,
                     .accuracy = progress_.accuracy,
                     .seconds = progress_.seconds,
                     .learning_rate = progress_.learning_rate,
                     .metrics = progress_.metrics,
                     .gradient_norm = progress_.gradient_norm};
  if (data_.validation) {
    result.validation.push_back(
        evaluate(model_, *data_.validation,
                 {.batch_size = options_.validation_batch_size,
                  .loss = options_.loss,
                  .metrics = options_.metrics,
                  .communicator = options_.communicator}));
    progress_.validation = &result.validation.back();
  }
  call(&Callback::on_epoch_end);
  progress_.validation = nullptr;
  state_.history.push_back(std::move(result));
  state_.epoch_done = true;
  checkpoints_->keep(training_, state_);
}

void FitRun::begin_epoch(int64_t epoch) {
  progress_.epoch = epoch;
  progress_.step = 0;
  progress_.samples = 0;
  progress_.loss = 0;
  progress_.accuracy = 0;
  progress_.metrics.clear();
  progress_.gradient_norm.reset();
  progress_.seconds = 0;
  state_.loss_total = 0;
  state_.norm_total = 0;
  state_.norm_count = 0;
  state_.epoch_done = false;
  sums_.clear();
  call(&Callback::on_epoch_begin);
}

void FitRun::count(int64_t samples, double loss, double seconds) {
  progress_.samples += samples;
  state_.loss_total += loss * static_cast<double>(samples);
  progress_.seconds = seconds;
  show_means();
}

/// Runs the remaining batches of the epoch and ends it.
void FitRun::run_epoch() {
  const Clock::time_point start = Clock::now();
  const double seconds_before = progress_.seconds;
  const int64_t steps = progress_.steps;
  const int64_t size = data_.training.size();
  auto next = loader(progress_.epoch)
                  .from(progress_.step * (step_->last() - step_->first()));
  for (int64_t i = progress_.step; i < steps; ++i) {
    ++progress_.step;
    const int64_t samples = std::min(batch_size_, size - i * batch_size_);
    // The batches [first, last) form an optimizer step, in which every sample
    // has the same weight.
    const int64_t first = i - i % options_.accumulate;
    const int64_t last = first + std::min(options_.accumulate, steps - first);
    const int64_t together =
        std::min(last * batch_size_, size) - first * batch_size_;
    if (i == first) {
      choose_rate();
      // A callback may have run a backward pass.
      clear_gradients();
    }
    const double loss = add_batch(next, samples, together);
    if (i + 1 == last) {
      move_parameters();
      if (options_.preserve_zeros) pruned_->clear_in(model_);
    }

    count(samples, loss, seconds_before + seconds_since(start));
    call(&Callback::on_step);
    // After the step, so that every started epoch has a step to report.
    if (training_.stopped()) break;
    // finish_epoch() saves the last step.
    if (i + 1 == last && last < steps) {
      state_.metric_sums = sums_.sums();
      if (requests_.save || requests_.interrupted) {
        checkpoints_->keep(training_, state_);
      }
      expect_no_interrupt();
    }
  }
  // A stop may leave gradients of an incomplete step.
  clear_gradients();
  state_.metric_sums = sums_.sums();
  finish_epoch();
}

History FitRun::run() {
  bool midway = !state_.epoch_done && progress_.step > 0;
  int64_t epoch = progress_.epoch + (state_.epoch_done ? 1 : 0);
  for (; midway || (epoch < options_.epochs && !training_.stopped()); ++epoch) {
    if (!midway) begin_epoch(epoch);
    run_epoch();
    midway = false;
    // An interrupt during the last step has no effect.
    const bool last = epoch + 1 == options_.epochs || training_.stopped();
    if (!last) expect_no_interrupt();
  }
  call(&Callback::on_train_end);
  if (ranks_.rank() == 0) pruned_->warn_if_filled("fit", model_);
  return std::move(state_.history);
}

History fit(Model& model, const Dataset& data, const FitOptions& options) {
  // A fit inside a shard of another fit must not join its shards.
  const CrossShardReductionGuard whole(nullptr);
  const FitOptions shown = with_progress_bar(options);
  std::optional<FitRun> run;
  LocalCommunicator alone;
  Communicator& ranks =
      options.communicator != nullptr ? *options.communicator : alone;
  run_on_all(ranks, [&] { run.emplace(model, data, shown); });
  run->begin();
  return run->run();
}

}  // namespace octet::train
