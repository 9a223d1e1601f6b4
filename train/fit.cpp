#include <chrono>
#include <cmath>
#include <unordered_set>

#include <fmt/format.h>

#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>
#include <octet/train/fit.h>
#include <octet/train/loader.h>

#include "accuracy.h"
#include "checks.h"

namespace octet::train {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// What gradients move, each once even where layers share it.
std::vector<Variable> trainable_parameters(const Model& model) {
  std::vector<Variable> found;
  std::unordered_set<const autograd::Node*> seen;
  for (const auto& layer : model.layers()) {
    for (const Parameter& parameter : layer->parameters()) {
      if (!parameter.trainable || !parameter.variable.requires_grad()) continue;
      if (seen.insert(parameter.variable.node().get()).second) {
        found.push_back(parameter.variable);
      }
    }
  }
  if (found.empty()) {
    throw ValueError(
        fmt::format("fit: expected a model with trainable parameters, got none "
                    "in model '{}'",
                    model.name()));
  }
  return found;
}

void check_options(const Model& model, const Dataset& data,
                   const FitOptions& options) {
  check_positive("fit", "epochs", options.epochs);
  check_positive("fit", "batch_size", options.batch_size);
  if (!options.schedule) {
    throw ValueError("fit: expected a schedule, got an empty function");
  }
  for (const auto& callback : options.callbacks) {
    if (callback == nullptr) {
      throw ValueError("fit: expected callbacks, got a null pointer");
    }
  }
  check_data("fit", model, data);
  if (options.validation != nullptr) {
    check_data("fit, validation", model, *options.validation);
  }
  if (model.outputs()[0].node->layer->class_name() == "Softmax") {
    warn(fmt::format(
        "fit: expected a model that ends in logits, got a Softmax at the end "
        "of model '{}', and the loss applies one again. Hint: end the model "
        "with Dense",
        model.name()));
  }
}

/// One fit: its fixed parts and where it stands.
class Run {
 public:
  Run(const Model& model, const Dataset& data, const FitOptions& options)
      : model_(model),
        data_(data),
        options_(options),
        optimizer_(options.optimizer) {
    check_options(model, data, options);
    const std::vector<Variable> parameters = trainable_parameters(model);
    // A fit that was broken off may have left gradients behind.
    for (const Variable& parameter : parameters) parameter.zero_grad();
    optimizer_.attach(parameters);
    progress_.epochs = options.epochs;
  }

  EpochResult run_epoch(int64_t epoch);

 private:
  struct StepResult {
    double loss;
    int64_t right;
  };
  StepResult compute_gradients(const Batch& batch);
  void move_parameters();
  void finish_epoch(EpochResult& result);

  const Model& model_;
  const Dataset& data_;
  const FitOptions& options_;
  Optimizer optimizer_;  // a handle: the caller's own
  Progress progress_;
};

/// Forward, loss, the check of it, backward.
Run::StepResult Run::compute_gradients(const Batch& batch) {
  const auto place = [this] {
    return fmt::format("at step {} of epoch {}", progress_.step,
                       progress_.epoch + 1);
  };
  const auto frame = [&place] { return place() + " of fit"; };
  StepResult result{};
  Variable loss;
  with_context(frame, [&] {
    const Variable logits = model_(Variable(batch.inputs), Mode::training);
    loss = softmax_cross_entropy(logits, batch.labels);
    result.loss = double{loss.value().item()};
    result.right = count_right(logits.value(), batch.labels);
  });
  if (!std::isfinite(result.loss)) {
    throw ValueError(fmt::format("loss: expected a finite value, got {} {}: {}",
                                 number_text(static_cast<float>(result.loss)),
                                 place(),
                                 explain_bad_loss(model_, batch.inputs)));
  }
  with_context(frame, [&] { loss.backward(); });
  return result;
}

void Run::move_parameters() {
  const int64_t step = progress_.epoch * progress_.steps + progress_.step - 1;
  const float factor =
      options_.schedule(step, progress_.epochs * progress_.steps);
  progress_.learning_rate = double{optimizer_.learning_rate()} * double{factor};
  optimizer_.step(factor);
}

void Run::finish_epoch(EpochResult& result) {
  // The loss of the next step would tell, but the last epoch has none.
  if (const std::string name = first_bad_parameter(model_); !name.empty()) {
    throw ValueError(
        fmt::format("fit: expected finite parameters after epoch {}, got "
                    "parameter '{}' that is not. Hint: lower the learning rate",
                    progress_.epoch + 1, name));
  }
  if (options_.validation != nullptr) {
    result.validation.push_back(evaluate(model_, *options_.validation));
    progress_.validation = &result.validation.back();
  }
  for (const auto& callback : options_.callbacks) {
    callback->on_epoch_end(progress_);
  }
  progress_.validation = nullptr;
}

EpochResult Run::run_epoch(int64_t epoch) {
  const Loader loader(data_, {.batch_size = options_.batch_size,
                              .seed = options_.seed,
                              .epoch = epoch});
  int64_t total = 0;
  if (__builtin_mul_overflow(options_.epochs, loader.batches(), &total)) {
    throw ValueError(
        fmt::format("fit: expected fewer epochs, got {}", options_.epochs));
  }
  progress_.epoch = epoch;
  progress_.step = 0;
  progress_.steps = loader.batches();
  progress_.samples = 0;

  const Clock::time_point start = Clock::now();
  double loss_sum = 0;
  int64_t right = 0;
  for (const Batch& batch : loader) {
    ++progress_.step;
    const StepResult step = compute_gradients(batch);
    move_parameters();

    const int64_t count = batch.labels.size();
    progress_.samples += count;
    loss_sum += step.loss * static_cast<double>(count);
    right += step.right;
    const auto samples = static_cast<double>(progress_.samples);
    progress_.loss = loss_sum / samples;
    progress_.accuracy = static_cast<double>(right) / samples;
    progress_.seconds = seconds_since(start);
    for (const auto& callback : options_.callbacks) {
      callback->on_step(progress_);
    }
  }

  EpochResult result{.loss = progress_.loss,
                     .accuracy = progress_.accuracy,
                     .seconds = progress_.seconds,
                     .learning_rate = progress_.learning_rate,
                     .validation = {}};
  finish_epoch(result);
  return result;
}

}  // namespace

History fit(const Model& model, const Dataset& data,
            const FitOptions& options) {
  Run run(model, data, options);
  History history;
  for (int64_t epoch = 0; epoch < options.epochs; ++epoch) {
    history.push_back(run.run_epoch(epoch));
  }
  return history;
}

}  // namespace octet::train
