// Callback: hooks into a fit, which may observe and end it. Callbacks run in
// the thread that called fit(), in the given order. Built-in callbacks are in
// callbacks.h.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <octet/layers/model.h>
#include <octet/train/evaluate.h>
#include <octet/train/optimizer.h>
#include <octet/train/training_state.h>

namespace octet::train {

/// The running fit as callbacks see it. Valid during the fit.
class Training {
 public:
  /// References `model`, which must outlive it. `names`: see names().
  Training(Model& model, Optimizer optimizer, std::vector<std::string> names)
      : model_(model),
        optimizer_(std::move(optimizer)),
        names_(std::move(names)) {}

  /// Returns the trained model.
  Model& model() { return model_; }
  const Model& model() const { return model_; }
  /// Returns the optimizer. Callbacks may set its learning rate, to the same
  /// value on every rank.
  Optimizer& optimizer() { return optimizer_; }
  const Optimizer& optimizer() const { return optimizer_; }
  /// Returns the names in Progress::logs() at the end of an epoch.
  std::span<const std::string> names() const { return names_; }

  /// Ends the fit after the current step, or after the first step of the epoch
  /// in on_epoch_begin(). The end of the epoch and of the fit are still
  /// processed.
  void stop() { stopped_ = true; }
  /// Whether stop() was called.
  bool stopped() const { return stopped_; }

 private:
  Model& model_;
  Optimizer optimizer_;
  std::vector<std::string> names_;
  bool stopped_ = false;
};

/// Progress of a fit.
struct Progress {
  int64_t epoch = 0;    ///< current epoch, from 0
  int64_t epochs = 0;   ///< epochs of the fit
  int64_t step = 0;     ///< batches of this epoch so far, from 1
  int64_t steps = 0;    ///< batches per epoch
  int64_t samples = 0;  ///< samples of this epoch so far
  double loss = 0;      ///< mean of this epoch so far, with regularization
  /// Training accuracy of this epoch so far, [0, 1]; NaN unless "accuracy" is
  /// among the metrics.
  double accuracy = 0;
  double seconds = 0;        ///< since the start of the epoch
  double learning_rate = 0;  ///< of the latest step, with the schedule's factor
  /// Set in on_epoch_end() if the fit has validation data, otherwise null.
  const Evaluation* validation = nullptr;
  std::vector<MetricValue> metrics = {};  ///< all, of this epoch so far
  /// Mean over the steps of this epoch so far, if the fit reports it.
  std::optional<double> gradient_norm = {};
  Training* training = nullptr;  ///< set in every callback of a fit
  /// Whether the fit resumes from a checkpoint: restore() of callbacks with a
  /// state follows on_train_begin().
  bool resumed = false;

  /// Returns, in this order: "loss", the metrics, "val_loss" and
  /// "val_<metric>" after validation, "gradient_norm" if reported, and
  /// "learning_rate".
  std::vector<MetricValue> logs() const;
};

/// Base of callbacks. Data that a callback carries from step to step belongs in
/// its state(), so that a resumed fit gives the same result as an uninterrupted
/// fit.
class Callback {
 public:
  virtual ~Callback() = default;
  /// Runs before the first step. An exception leaves the model unchanged.
  virtual void on_train_begin(const Progress&) {}
  /// Runs before the first batch of each epoch.
  virtual void on_epoch_begin(const Progress&) {}
  /// Runs after a checkpoint is restored, before the first step.
  virtual void on_resume(const Progress&) {}
  /// Runs after each batch.
  virtual void on_step(const Progress&) {}
  /// Runs after validation.
  virtual void on_epoch_end(const Progress&) {}
  /// Runs after the last epoch, unless an exception ended the fit.
  virtual void on_train_end(const Progress&) {}
  /// Whether on_train_end() assigns parameters. At most one callback of a fit
  /// may do so.
  virtual bool sets_final_weights() const { return false; }

  /// Returns the name of the monitored value in Progress::logs(), such as
  /// "val_loss", or "". A fit that does not report it throws a NotFoundError
  /// before it calibrates or trains. Must be constant.
  virtual std::string monitored() const { return {}; }

  /// Whether the callback runs on the first rank only (see communicator.h), as
  /// for files and terminal output. Other callbacks run on all ranks and must
  /// have the same effect on each.
  virtual bool on_first_rank_only() const { return false; }

  /// Returns the name of the state in checkpoints, such as "early_stopping", or
  /// "" for a callback without state. Must be constant.
  virtual std::string state_name() const { return {}; }
  /// Returns the state between two steps. Tensors may share memory with the
  /// callback.
  virtual CallbackState state() const { return {}; }
  /// Restores a state() of a fit with the same options. The fit continues with
  /// the event that followed state().
  /// Throws: ValueError, NotFoundError for a state that does not match.
  virtual void restore(const CallbackState&, const Progress&) {}
};

/// Callbacks of a fit, in the order of their calls.
using Callbacks = std::vector<std::shared_ptr<Callback>>;

}  // namespace octet::train
