// Callback: hooks into a fit, which may observe and end it. Callbacks run in
// the thread that called fit(), in the given order. Built-in callbacks are in
// callbacks.h.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <octet/layers/model.h>
#include <octet/quant/sensitivity.h>
#include <octet/runtime/config.h>
#include <octet/runtime/dataset.h>
#include <octet/runtime/tensor.h>
#include <octet/train/evaluate.h>
#include <octet/train/optimizer.h>

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

/// f32 or i64 tensors by path, such as "optimizer/conv/kernel:0".
using NamedTensors = std::map<std::string, Tensor>;

/// State of a callback. Values may be NaN or infinite.
struct CallbackState {
  Config values;              ///< null, or an object
  NamedTensors tensors = {};  ///< by path within the callback
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

// Callbacks of Octet.

// Built-in callbacks: early stopping, learning rate reduction, weight averages,
// frozen batch statistics, quantizer checks, CSV log. A callback serves a
// single fit at a time and may be reused for later fits. Checkpoints are an
// option of fit().

/// Which of two monitored values is better.
enum class Better {
  automatic,  ///< higher if the name contains "accuracy", otherwise lower
  lower,      ///< the lower value, as for losses
  higher,     ///< the higher value, as for accuracies
};

/// Options of early_stopping().
/// Fields in order: monitor, min_delta, patience, better, restore_best_weights,
/// start_from_epoch
struct EarlyStoppingOptions {
  /// A name in Progress::logs(): "val_loss", "val_accuracy", "loss", ...
  std::string monitor = "val_loss";
  double min_delta = 0;  ///< smallest change that is an improvement, >= 0
  int64_t patience = 0;  ///< consecutive epochs without improvement, >= 0
  Better better = Better::automatic;  ///< direction of improvement
  /// Restore the parameters of the best epoch at the end of the fit, also
  /// without an early stop.
  bool restore_best_weights = false;
  int64_t start_from_epoch = 0;  ///< number of ignored first epochs, >= 0
};

/// Ends the fit after `patience` epochs without improvement of the monitored
/// value, at the earliest after the second epoch, as in Keras. NaN is never an
/// improvement. `restore_best_weights` costs a copy of the parameters.
/// Throws: ValueError for options out of range; NotFoundError, before the fit
/// calibrates or trains, for a name that the fit does not report.
std::shared_ptr<Callback> early_stopping(
    const EarlyStoppingOptions& options = {});

/// Options of reduce_on_plateau().
/// Fields in order: monitor, factor, patience, min_delta, cooldown, min_rate,
/// better
struct ReduceOnPlateauOptions {
  /// A name in Progress::logs(): "val_loss", "val_accuracy", "loss", ...
  std::string monitor = "val_loss";
  float factor = 0.1f;      ///< multiplier of the learning rate, (0, 1)
  int64_t patience = 10;    ///< epochs without improvement, >= 1
  double min_delta = 1e-4;  ///< smallest change that is an improvement, >= 0
  int64_t cooldown = 0;     ///< ignored epochs after a reduction, >= 0
  float min_rate = 0;       ///< lower limit of the learning rate, >= 0
  Better better = Better::automatic;  ///< direction of improvement
};

/// Multiplies the learning rate by `factor` after `patience` epochs without
/// improvement of the monitored value, as Keras' ReduceLROnPlateau. The
/// optimizer retains the rate after the fit. Throws: as early_stopping().
std::shared_ptr<Callback> reduce_on_plateau(
    const ReduceOnPlateauOptions& options = {});

/// Options of exponential_moving_average().
struct MovingAverageOptions {
  float decay = 0.99f;  ///< weight of the average so far in a step, [0, 1)
};

/// Averages the trained parameters over the optimizer steps,
/// a = decay * a + (1 - decay) * w, starting from their initial values, and
/// assigns the averages at the end of the fit, as Keras' use_ema. Validation
/// during the fit uses the current parameters. The statistics of batch
/// normalization belong to the latest parameters, not to the averages: call
/// update_batch_statistics() afterwards.
/// Throws: ValueError for options out of range.
std::shared_ptr<Callback> exponential_moving_average(
    const MovingAverageOptions& options = {});

/// Freezes the statistics of batch normalization at the start of epoch
/// `from_epoch`, counted from 0, as quant::freeze_bn_stats(); they stay frozen
/// after the fit. Statistics that are frozen before the fit, by an earlier fit
/// for example, stay frozen (quant::freeze_bn_stats(model, false) unfreezes).
/// Quantization-aware training at large learning rates needs statistics that
/// follow the weights at first and constant ranges at the end.
/// Throws: ValueError for an epoch < 0; at the start of the fit, for an epoch
/// that the fit does not reach.
std::shared_ptr<Callback> freeze_batch_norm(int64_t from_epoch);

/// Runs quant::check_quantizers() on `samples` before training and after each
/// epoch, and warns once per quantizer and fault: dead channels, collapsed
/// scales, clipped values, NaN. Costs an inference of options.samples samples
/// per epoch.
/// Throws: at the start of the fit, errors of check_quantizers().
std::shared_ptr<Callback> quantizer_guard(
    const Dataset& samples, const quant::QuantizerCheckOptions& options = {});

/// Options of csv_log().
struct CsvLogOptions {
  bool append = false;  ///< keep the rows of an earlier fit; columns must agree
};

/// Writes a CSV file with a header and a row per epoch: number (from 1),
/// Progress::logs() and seconds. The file is replaced atomically after every
/// epoch.
/// Throws: ValueError for the extension of another file format (.npy); at the
/// start of the fit, IoError if the file cannot be written and FormatError if
/// the columns of the file to append to differ.
std::shared_ptr<Callback> csv_log(std::filesystem::path path,
                                  const CsvLogOptions& options = {});

/// Prints epoch, loss, accuracy, images/s and remaining time: a progress bar if
/// standard output is a terminal, otherwise a line per epoch. Each line begins
/// with `label`. Ignores write errors.
std::shared_ptr<Callback> progress_bar(std::string label = "");

// keep_best: callback that restores the best model of a fit, among the initial
// model and the model after each epoch. Fine-tuning then does not degrade the
// monitored value on the evaluation data.
//
//   const auto best = train::keep_best(validation);
//   train::fit(int8, training, {.epochs = 5, .callbacks = {best}});
//   best->best();                // 0: the initial model; 2: after epoch 2
//   best->evaluations().back();  // last epoch

/// Options of keep_best().
/// Fields in order: loss, metrics, monitor, batch_size, update_statistics,
/// statistics
struct KeepBestOptions {
  /// Loss of the evaluations, usually the same as in the fit: see Losses.
  Losses loss = losses::sparse_categorical_cross_entropy();
  /// Metrics of a model with a single output. Default: the loss' metrics.
  Metrics metrics = {};
  /// Value to compare: "loss" or the name of a metric; higher is better if the
  /// name contains "accuracy". Empty: the first metric if the model has a
  /// single output and that metric is an accuracy, otherwise the loss.
  std::string monitor = {};
  int64_t batch_size = 1000;  ///< samples per batch, >= 1
  /// Data for update_batch_statistics(), which re-estimates the statistics of
  /// batch normalization on a copy of the model before each evaluation; the
  /// best model receives these statistics. Set it if running statistics lag
  /// behind the weights. Frozen statistics are not updated. Default: evaluates
  /// with the running statistics.
  std::optional<Dataset> update_statistics = {};
  BatchStatisticsOptions statistics = {};  ///< for `update_statistics`
};

/// Evaluates the model on the same data before the first step and after each
/// epoch, and restores the best model at the end of the fit: parameters,
/// statistics and trained quantizer scales. Ties are broken by the lower loss,
/// then by the earlier model; NaN is never better. Costs an evaluation per
/// epoch and a copy of the parameters. Its state is part of checkpoints. The
/// initial model is not a candidate if a quantizer has no scale before
/// training.
class KeepBest : public Callback {
 public:
  /// Returns the evaluations of the initial model and of the model after each
  /// epoch. One with 0 samples marks a model that was not evaluated.
  const std::vector<Evaluation>& evaluations() const { return evaluations_; }
  /// Returns the index of the restored model in evaluations(): 0 is the initial
  /// model, n the model after the n-th epoch.
  int64_t best() const { return best_; }
  /// Returns the monitored value of an evaluation; NaN for 0 samples.
  double score(const Evaluation& evaluation) const;
  /// Returns the name of the monitored value.
  std::string monitor() const;

 protected:
  /// Whether `a` is better than `b`.
  bool is_better(const Evaluation& a, const Evaluation& b) const;

  KeepBestOptions options_;              ///< given to keep_best()
  std::vector<Evaluation> evaluations_;  ///< see evaluations()
  int64_t best_ = 0;                     ///< see best()
};

/// Creates the callback. `data` is the data of its evaluations: validation data
/// or, if there is none, the training data.
/// Throws: ValueError for options out of range; at the first evaluation of a
/// fit, errors of evaluate() and NotFoundError for an unknown `monitor`.
std::shared_ptr<KeepBest> keep_best(const Dataset& data,
                                    const KeepBestOptions& options = {});

// Oscillations: detects, damps or freezes weights that oscillate between two
// quantized values during quantization-aware training.
//
//   const auto oscillations = train::oscillations({.freeze_above = 0.02f});
//   train::fit(int4, data, {.callbacks = {oscillations}});
//   std::cout << oscillations->to_string();
//
// At low bit widths, oscillating weights corrupt the statistics of batch
// normalization, and their final quantized value is arbitrary. Source: Nagel et
// al., "Overcoming oscillations in quantization-aware training", arXiv
// 2203.11086.

/// Options of oscillations().
/// Fields in order: momentum, freeze_above, damping
struct OscillationOptions {
  /// Weight of a new step in the moving averages of frequency and quantized
  /// value, (0, 1].
  float momentum = 0.01f;
  /// Frequency above which a weight is frozen at its mean quantized value,
  /// [0, 1]. The threshold falls along a cosine from ten times this value at
  /// the start to this value at the end of training. 0 freezes none. Not for
  /// weights with live scales, which would change the frozen values.
  float freeze_above = 0;
  /// Share of the distance to its dequantized value that a weight moves after
  /// each step, [0, 1]. It rises along a cosine from 0 at the start to this
  /// value at the end of training. 0: no damping.
  float damping = 0;
};

/// Oscillation counts of the weights of a quantizer.
struct OscillationShare {
  std::string quantizer;    ///< its name
  int64_t weights = 0;      ///< number of weights
  int64_t oscillating = 0;  ///< number of weights of a frequency above 0.005
  int64_t frozen = 0;       ///< number of weights that no longer change
};

/// Tracks all trained weights whose quantizer is enabled at the start of the
/// fit. A weight oscillates in a step in which its quantized value changes
/// opposite to its previous change; its frequency is a moving average of these
/// events.
class Oscillations : public Callback {
 public:
  /// Returns the counts per quantizer, in model order, of the current or latest
  /// fit.
  virtual std::vector<OscillationShare> shares() const = 0;
  /// Returns the share of oscillating weights among all tracked, [0, 1].
  double share() const;
  /// Returns the share and a table of quantizers, largest share first.
  std::string to_string() const;
};

/// Returns a callback that tracks oscillations.
/// Throws: ValueError for options out of range; at the start of the fit, for a
/// model without trainable quantized weights, and for live scales with
/// `freeze_above`.
std::shared_ptr<Oscillations> oscillations(
    const OscillationOptions& options = {});

}  // namespace octet::train
