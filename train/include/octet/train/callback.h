// Callbacks: what watches a fit and may end it. They run in the thread that
// called fit, in the order given; see callbacks.h for those at hand.
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

/// The fit that runs, as its callbacks see it. Lives as long as the fit.
class Training {
 public:
  Training(Model& model, Optimizer optimizer, std::vector<std::string> names)
      : model_(model),
        optimizer_(std::move(optimizer)),
        names_(std::move(names)) {}

  Model& model() { return model_; }
  const Model& model() const { return model_; }
  Optimizer& optimizer() { return optimizer_; }
  const Optimizer& optimizer() const { return optimizer_; }
  /// What Progress::logs() names at the end of an epoch, known beforehand.
  std::span<const std::string> names() const { return names_; }

  /// Ends the fit after this step, or the first one of an epoch that begins,
  /// with the epoch's end and the fit's.
  void stop() { stopped_ = true; }
  bool stopped() const { return stopped_; }

 private:
  Model& model_;
  Optimizer optimizer_;
  std::vector<std::string> names_;
  bool stopped_ = false;
};

/// Where a fit stands; what callbacks see.
struct Progress {
  int64_t epoch = 0;  ///< from 0
  int64_t epochs = 0;
  int64_t step = 0;     ///< batches of this epoch, from 1
  int64_t steps = 0;    ///< per epoch
  int64_t samples = 0;  ///< seen in this epoch
  double loss = 0;      ///< mean of this epoch so far, with regularization
  /// Of this epoch so far, on training batches, [0, 1]; NaN if the accuracy
  /// is not among the metrics.
  double accuracy = 0;
  double seconds = 0;  ///< since the epoch began
  double learning_rate = 0;
  const Evaluation* validation = nullptr;  ///< at the end of an epoch, if any
  std::vector<MetricValue> metrics = {};   ///< all, of this epoch so far
  /// Mean over the steps of this epoch so far, if the fit reports it.
  std::optional<double> gradient_norm = {};
  Training* training = nullptr;  ///< set in every callback of a fit
  /// Whether the fit goes on from a checkpoint: restore() comes after
  /// on_train_begin(), for callbacks that have a state.
  bool resumed = false;

  /// "loss", the metrics, with validation "val_loss" and "val_<metric>",
  /// "gradient_norm" if it is reported, and "learning_rate", in this order.
  std::vector<MetricValue> logs() const;
};

/// What a callback remembers from one step to another belongs to its state, so
/// that a fit that goes on from a checkpoint ends like one that never stopped.
class Callback {
 public:
  virtual ~Callback() = default;
  /// Before the first step; what throws here leaves the model as it was.
  virtual void on_train_begin(const Progress&) {}
  virtual void on_epoch_begin(const Progress&) {}
  /// After a state was put back, before the first step.
  virtual void on_resume(const Progress&) {}
  /// After each batch.
  virtual void on_step(const Progress&) {}
  /// After validation.
  virtual void on_epoch_end(const Progress&) {}
  /// After the last epoch, unless an exception ended the fit.
  virtual void on_train_end(const Progress&) {}
  /// Whether on_train_end() gives the parameters other values, which only one
  /// callback of a fit may.
  virtual bool sets_final_weights() const { return false; }

  /// Name of the value in Progress::logs() that it depends on: "val_loss".
  /// Empty: none. A fit that does not report it throws a NotFoundError before
  /// it calibrates or trains. Constant.
  virtual std::string monitored() const { return {}; }

  /// Whether it runs on the first rank alone where several train together (see
  /// communicator.h): what writes files or to the terminal. Others run on all
  /// ranks, and must do the same there.
  virtual bool on_first_rank_only() const { return false; }

  /// Under which name the state is kept: "early_stopping". Empty: there is
  /// none. Constant.
  virtual std::string state_name() const { return {}; }
  /// Asked between two steps. Tensors may share memory with the callback.
  virtual State state() const { return {}; }
  /// Takes up what state() gave in a fit with the same options. What would have
  /// come next there comes next here.
  /// Throws: ValueError, NotFoundError for a state that does not fit.
  virtual void restore(const State&, const Progress&) {}
};

using Callbacks = std::vector<std::shared_ptr<Callback>>;

}  // namespace octet::train
