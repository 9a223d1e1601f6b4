#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include <fmt/format.h>

#include <octet/quant/qat.h>
#include <octet/quant/wrapper.h>
#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>
#include <octet/train/clip.h>
#include <octet/train/fit.h>
#include <octet/train/loader.h>

#include "checks.h"
#include "fit_options.h"
#include "interrupt.h"
#include "label_check.h"
#include "metric_sums.h"
#include "resume/checkpoints.h"

namespace octet::train {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// What gradients move.
std::vector<Variable> trainable_parameters(const Model& model) {
  std::vector<Variable> found = model.trainable_variables();
  if (found.empty()) {
    throw ValueError(
        fmt::format("fit: expected a model with trainable parameters, got none "
                    "in model '{}'",
                    model.name()));
  }
  return found;
}

/// One call of fit().
class Run {
 public:
  Run(Model& model, const Dataset& data, const FitOptions& options)
      : model_(model),
        options_(options),
        trained_("fit", model, options.loss, options.metrics),
        data_(check_and_split(model, data, trained_, options)),
        batch_size_(batch_size_of(data_.training, options)),
        training_(model, options.optimizer,
                  log_names(trained_, data_.validation.has_value(),
                            options.gradient_norm)),
        sums_(trained_) {
    progress_.epochs = options.epochs;
    progress_.steps = loader(0).batches();
    progress_.training = &training_;
    updates_ = (progress_.steps - 1) / options.accumulate + 1;
    int64_t total = 0;
    if (__builtin_mul_overflow(options.epochs, updates_, &total)) {
      throw ValueError(
          fmt::format("fit: expected fewer epochs, got {}", options.epochs));
    }
    // A state that is resumed brings scales along, but those that learn are
    // among the parameters it is for.
    if (quant::learns_scales(model)) calibrate();
    FitCheckpoints& checkpoints = checkpoints_.emplace(
        model, options, data_, batch_size_, trained_, updates_);
    progress_.resumed = checkpoints.resumes();
    if (!checkpoints.resumes()) {
      calibrate();
      warn_of_slow_statistics(model, options.epochs * progress_.steps);
    }
    parameters_ = trainable_parameters(model);
    warn_of_scale_steps(model, options);
    call(&Callback::on_train_begin);
    // A fit that was broken off may have left gradients behind.
    clear_gradients();
    training_.optimizer().attach(parameters_);
    state_.metric_sums = sums_.sums();
    if (checkpoints.resumes()) {
      resume();
    } else {
      checkpoints.begin(training_, state_);
    }
  }

  History run();

 private:
  void call(void (Callback::*event)(const Progress&)) {
    for (const auto& callback : options_.callbacks) {
      ((*callback).*event)(progress_);
    }
  }
  void calibrate() {
    if (options_.calibrate && (quant::quantizers(model_).empty() ||
                               quant::needs_calibration(model_))) {
      quant::calibrate(model_, data_.training, *options_.calibrate);
    }
    quant::expect_calibrated("fit", model_);
  }
  void clear_gradients() const {
    for (const Variable& parameter : parameters_) parameter.zero_grad();
  }
  Loader loader(int64_t epoch) const {
    return Loader(data_.training, {.batch_size = batch_size_,
                                   .seed = options_.seed,
                                   .epoch = epoch,
                                   .augmentation = options_.augmentation,
                                   .prefetch = options_.prefetch,
                                   .workers = options_.workers});
  }
  void resume();
  void expect_no_interrupt() const;
  void begin_epoch(int64_t epoch);
  void run_epoch();
  void show_means();
  void count(int64_t samples, double loss, double seconds);
  void weight_classes(Batch& batch) const;
  double compute_gradients(Batch batch, float share);
  void choose_rate();
  void move_parameters();
  void finish_epoch();

  Model& model_;
  const FitOptions& options_;
  TrainedOutputs trained_;
  DataSplit data_;
  int64_t batch_size_;
  std::vector<Variable> parameters_;
  Training training_;
  MetricSums sums_;
  int64_t updates_ = 0;    // of an epoch
  float rate_factor_ = 1;  // of the schedule, for the next update
  FitState state_;
  Progress& progress_ = state_.progress;
  std::optional<FitCheckpoints> checkpoints_;
  InterruptGuard interrupt_;
};

void Run::expect_no_interrupt() const {
  if (!interrupt_.requested()) return;
  clear_gradients();
  throw InterruptedError(fmt::format(
      "fit: interrupted after step {} of epoch {}; {}", progress_.step,
      progress_.epoch + 1,
      options_.checkpoints == nullptr
          ? "nothing is saved. Hint: `.checkpoints` keeps states to go on from"
      : checkpoints_->saved()
          ? fmt::format("a state is saved in '{}', from which `.resume = true` "
                        "goes on",
                        options_.checkpoints->name())
          : fmt::format("its state could not be saved in '{}'",
                        options_.checkpoints->name())));
}

void Run::resume() {
  checkpoints_->restore(training_, state_);
  sums_.set(state_.metric_sums, progress_.samples);
  show_means();
  call(&Callback::on_resume);
}

void Run::show_means() {
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

/// Multiplies the samples' weights by those of their classes.
void Run::weight_classes(Batch& batch) const {
  if (options_.class_weights.empty()) return;
  const auto labels = std::as_const(batch.label()).data<int64_t>();
  Tensor weights = Tensor::full(batch.label().shape(), 1.0f);
  const auto to = weights.f32();
  for (size_t i = 0; i < labels.size(); ++i) {
    if (labels[i] < 0 || labels[i] >= std::ssize(options_.class_weights)) {
      throw ValueError(
          fmt::format("fit: expected labels in [0,{}) for class_weights, got "
                      "{}",
                      options_.class_weights.size(), labels[i]));
    }
    to[i] = options_.class_weights[static_cast<size_t>(labels[i])];
    if (!batch.weights.empty()) to[i] *= std::as_const(batch.weights).f32()[i];
  }
  batch.weights = weights;
}

/// Forward, loss, the check of it, backward from `share` of it. Returns the
/// batch's mean loss with the regularization loss.
double Run::compute_gradients(Batch batch, float share) {
  const auto place = [this] {
    return fmt::format("at step {} of epoch {}", progress_.step,
                       progress_.epoch + 1);
  };
  const auto frame = [&place] { return place() + " of fit"; };
  const auto count = static_cast<double>(batch.size());
  double result = 0;
  Variable loss;
  with_context(frame, [&] {
    check_batch_labels("fit", model_, batch, trained_);
    weight_classes(batch);
    const std::vector<Variable> inputs(batch.inputs.begin(),
                                       batch.inputs.end());
    const std::vector<Variable> outputs = model_(inputs, Mode::training);
    const BatchLoss of_batch = trained_.loss(outputs, batch);
    result = of_batch.sum / count;
    loss = of_batch.mean;
    if (const Variable regularization = model_.regularization_loss()) {
      result += double{regularization.value().item()};
      loss = add(loss, regularization);
    }
    std::vector<Tensor> values;
    for (const Variable& output : outputs) values.push_back(output.value());
    sums_.add(values, batch, of_batch);
  });
  if (!std::isfinite(result)) {
    throw ValueError(fmt::format("loss: expected a finite value, got {} {}: {}",
                                 number_text(static_cast<float>(result)),
                                 place(), explain_bad_loss(model_, batch)));
  }
  with_context(frame, [&] {
    (share == 1.0f ? loss : scale_shift(loss, share)).backward();
  });
  return result;
}

void Run::choose_rate() {
  const Optimizer& optimizer = training_.optimizer();
  rate_factor_ =
      options_.schedule(optimizer.steps(), progress_.epochs * updates_);
  state_.schedule.add(rate_factor_);
  progress_.learning_rate =
      double{optimizer.learning_rate()} * double{rate_factor_};
}

void Run::move_parameters() {
  if (options_.gradient_norm) {
    state_.norm_total += gradient_norm(parameters_);
    ++state_.norm_count;
  }
  if (options_.clip_value > 0) {
    clip_gradients_by_value(parameters_, options_.clip_value);
  }
  if (options_.clip_norm > 0) {
    clip_gradients_by_norm(parameters_, options_.clip_norm);
  }
  training_.optimizer().step(rate_factor_);
}

void Run::finish_epoch() {
  // The loss of the next step would tell, but the last epoch has none.
  if (const std::string name = first_bad_parameter(model_); !name.empty()) {
    throw ValueError(
        fmt::format("fit: expected finite parameters after epoch {}, got "
                    "parameter '{}' that is not. Hint: lower the learning rate",
                    progress_.epoch + 1, name));
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
                  .metrics = options_.metrics}));
    progress_.validation = &result.validation.back();
  }
  call(&Callback::on_epoch_end);
  progress_.validation = nullptr;
  state_.history.push_back(std::move(result));
  state_.epoch_done = true;
  checkpoints_->after_epoch(training_, state_);
}

void Run::begin_epoch(int64_t epoch) {
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

void Run::count(int64_t samples, double loss, double seconds) {
  progress_.samples += samples;
  state_.loss_total += loss * static_cast<double>(samples);
  progress_.seconds = seconds;
  show_means();
}

/// The batches of the epoch that are not done yet, and its end.
void Run::run_epoch() {
  const Clock::time_point start = Clock::now();
  const double seconds_before = progress_.seconds;
  const int64_t steps = progress_.steps;
  const int64_t size = data_.training.size();
  auto next = loader(progress_.epoch).from(progress_.step);
  for (int64_t i = progress_.step; i < steps; ++i, ++next) {
    const Batch batch = *next;
    ++progress_.step;
    const int64_t samples = batch.size();
    // The batches [first, last) make one step together, in which every sample
    // counts the same.
    const int64_t first = i - i % options_.accumulate;
    const int64_t last = first + std::min(options_.accumulate, steps - first);
    const int64_t together =
        std::min(last * batch_size_, size) - first * batch_size_;
    const float share =
        static_cast<float>(samples) / static_cast<float>(together);
    if (i == first) choose_rate();
    const double loss = compute_gradients(batch, share);
    if (i + 1 == last) move_parameters();

    count(samples, loss, seconds_before + seconds_since(start));
    call(&Callback::on_step);
    // Here, so that an epoch that has begun has a step to report.
    if (training_.stopped()) break;
    // The end of the epoch is saved, too.
    if (i + 1 == last && last < steps) {
      state_.metric_sums = sums_.sums();
      checkpoints_->after_step(training_, state_, interrupt_.requested());
      expect_no_interrupt();
    }
  }
  // Of a step that was not completed.
  clear_gradients();
  state_.metric_sums = sums_.sums();
  finish_epoch();
}

History Run::run() {
  bool midway = !state_.epoch_done && progress_.step > 0;
  int64_t epoch = progress_.epoch + (state_.epoch_done ? 1 : 0);
  for (; midway || (epoch < options_.epochs && !training_.stopped()); ++epoch) {
    if (!midway) begin_epoch(epoch);
    run_epoch();
    midway = false;
    // After the last step there is nothing to go on with.
    const bool last = epoch + 1 == options_.epochs || training_.stopped();
    if (!last) expect_no_interrupt();
  }
  call(&Callback::on_train_end);
  return std::move(state_.history);
}

}  // namespace

History fit(Model& model, const Dataset& data, const FitOptions& options) {
  const FitOptions shown = with_progress_bar(options);
  return Run(model, data, shown).run();
}

}  // namespace octet::train
