// Training.
#pragma once

#include <cstdint>
#include <iosfwd>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <octet/layers/model.h>
#include <octet/quant/calibrate.h>
#include <octet/quant/plan.h>
#include <octet/runtime/config.h>
#include <octet/runtime/dataset.h>
#include <octet/train/callback.h>
#include <octet/train/communicator.h>
#include <octet/train/data_loader.h>
#include <octet/train/evaluate.h>
#include <octet/train/learning_rate.h>
#include <octet/train/loss.h>
#include <octet/train/optimizer.h>

namespace octet::train {

// TrainingState: the complete state of a fit, as plain values and tensors, from
// which it resumes with the same results.

/// State of a fit between two optimizer steps. Tensors may share memory with
/// the model: clone them to preserve them.
struct TrainingState {
  quant::ModelState model;  ///< weights, plan and quantizers
  /// Options, optimizer, data and names of trained parameters, which must agree
  /// for a fit to resume.
  Config fingerprint = {};
  /// Epoch, batch, sums and history; the optimizer's step count and learning
  /// rate; values of callback states.
  Config progress = {};
  NamedTensors tensors = {};  ///< optimizer slots and callback tensors
};

// Checkpointer: storage of training states, from which an interrupted fit
// resumes. io::checkpoint_folder() stores them in files.

/// Storage of training states. Derive a custom storage from it.
class Checkpointer {
 public:
  virtual ~Checkpointer() = default;

  /// Name in messages, such as "runs/a".
  virtual std::string name() const = 0;

  /// Locks the storage for the lifetime of the result.
  /// Throws: IoError if another fit holds the lock, or the storage is not
  /// writable.
  virtual std::shared_ptr<void> claim() { return nullptr; }

  /// Whether no state was ever saved.
  virtual bool empty() const = 0;
  /// Returns the newest complete state, if any.
  virtual std::optional<TrainingState> latest() const = 0;

  /// Whether to save after `steps` optimizer steps. The fit also saves at its
  /// start and after each epoch.
  virtual bool wanted(int64_t steps) const = 0;
  /// Saves a state as the newest.
  /// Throws: IoError; earlier states stay intact.
  virtual void save(const TrainingState& state) = 0;
};

// fit: the training loop.

/// Result of an epoch.
struct EpochResult {
  double loss = 0;           ///< on training batches, with regularization
  double accuracy = 0;       ///< on training batches, [0, 1], or NaN
  double seconds = 0;        ///< training only, without validation
  double learning_rate = 0;  ///< at the last step
  std::vector<Evaluation> validation = {};   ///< empty without validation data
  std::vector<MetricValue> metrics = {};     ///< on training batches
  std::optional<double> gradient_norm = {};  ///< see Progress::gradient_norm
};
/// Results of the epochs of a fit, in order, including those before a resume.
using History = std::vector<EpochResult>;

/// Returns a table with a row per epoch: number from 1, loss, metrics, then
/// those of the validation data ("val_loss", ...), the gradient norm if
/// reported, the learning rate, and the seconds of training. An empty history
/// is "no epochs".
std::string to_string(const History& history);

/// Prints to_string(history).
std::ostream& operator<<(std::ostream& out, const History& history);

/// Scope of the statistics of batch normalization in training.
enum class BatchStatistics {
  per_shard,     ///< separate statistics for each shard
  synchronized,  ///< the whole batch, across shards and ranks
};

/// Options of fit().
/// Fields in order: epochs, batch_size, optimizer, schedule, seed, validation,
/// callbacks, verbose, loss, metrics, calibrate, validation_split,
/// validation_batch_size, class_weights, clip_norm, clip_value, gradient_norm,
/// accumulate, augmentation, prefetch, workers, checkpoints, resume, shards,
/// batch_statistics, update_statistics_later, preserve_zeros, communicator
struct FitOptions {
  int64_t epochs = 1;  ///< passes over the training data, >= 1
  /// Samples per batch, from 1 to the number of samples, a multiple of
  /// `shards`. Default: 64, or the number of samples if that is smaller,
  /// rounded to such a multiple.
  std::optional<int64_t> batch_size = {};
  /// Update rule and learning rate. The fit attaches the trainable parameters,
  /// which resets its state.
  Optimizer optimizer = Adam();
  Schedule schedule = constant();  ///< over all steps of this fit
  uint64_t seed = 0;               ///< for shuffling and augmentation
  /// Data that is evaluated after each epoch. Null: none, or part of the
  /// training data by `validation_split`.
  const Dataset* validation = nullptr;
  /// Called in this order. At most one may set final weights.
  Callbacks callbacks = {};
  /// Whether to show a progress_bar(). Default: if standard output is a
  /// terminal and no callback is a progress bar.
  std::optional<bool> verbose = {};
  /// Loss of a single output, or of several outputs: see Losses.
  Losses loss = losses::sparse_categorical_cross_entropy();
  /// Metrics of a model with a single output. Default: the loss' metrics.
  Metrics metrics = {};
  /// Calibrates an uncalibrated quantized model on the training data before the
  /// first step: `.calibrate = quant::CalibrationOptions{.samples = 1024}`.
  std::optional<quant::CalibrationOptions> calibrate = {};
  /// Share of the data, taken from its end, for validation instead of training,
  /// [0, 1). Not for data sorted by class: see Dataset::hold_out().
  double validation_split = 0;
  int64_t validation_batch_size = 1000;  ///< samples per batch, >= 1
  /// Weight of each class' samples, finite and >= 0; two weights for a binary
  /// model with a single output. Empty: all 1. Requires i64 labels, also after
  /// augmentation.
  std::vector<float> class_weights = {};
  float clip_norm = 0;   ///< limit of the global gradient norm; 0: none
  float clip_value = 0;  ///< limit of each gradient element; 0: none
  /// Report "gradient_norm": global norm before clipping, mean over the steps
  /// of an epoch.
  bool gradient_norm = false;
  /// Number of batches per optimizer step, >= 1; gradients are means over all
  /// samples of these batches.
  int64_t accumulate = 1;
  /// Random transforms of training batches, not of validation data.
  Augmentation augmentation = {};
  int64_t prefetch = 0;  ///< whole batches ahead; see EpochLoaderOptions
  int64_t workers = 1;   ///< number of prefetch threads, [1, 64]
  /// Storage of the fit's states, such as io::checkpoint_folder().
  std::shared_ptr<Checkpointer> checkpoints = {};
  /// Resume from the newest complete state in `checkpoints`, or start if there
  /// is none. The model must be the same as at the start of the original fit.
  bool resume = false;
  /// Number of shards per batch: a power of two, [1, 4096], that divides the
  /// batch size. Each shard passes through the model separately, with a
  /// separate random stream and, by default, separate statistics of batch
  /// normalization. Gradients are added in a fixed order, so the result depends
  /// on the number of shards but not on the number of ranks. Default: 1, or 8
  /// with a communicator.
  std::optional<int64_t> shards = {};
  /// `synchronized` also updates running activation scales from the whole
  /// batch. The shards of a rank then run interleaved, so their saved
  /// activations are in memory at the same time.
  BatchStatistics batch_statistics = BatchStatistics::per_shard;
  /// Whether the caller runs update_batch_statistics() after the fit; silences
  /// the warnings about running statistics that lag behind the weights.
  bool update_statistics_later = false;
  /// Keep zeros of pruned kernels (quant::PrunedKernels of the initial model)
  /// at exactly 0 after every optimizer step. A model without pruned kernels is
  /// rejected. Default: training fills them and logs a warning.
  bool preserve_zeros = false;
  /// Ranks that train together: a power of two, up to the number of shards. All
  /// ranks call fit() with the same model, data and options. Null: this process
  /// alone.
  Communicator* communicator = nullptr;
};

/// Trains the model in place.
///
/// Deterministic: the same seed and data give bit-identical weights and history
/// (except `seconds`) for any number of threads, and after any interruption and
/// resume. Resuming a completed fit returns its result without training. A
/// checkpoint that cannot be saved logs a warning, except the first. Losses and
/// metrics detect from the end of the model whether outputs are logits or
/// probabilities. Warns if the validation data lacks classes of the training
/// data.
///
/// Ctrl-C (SIGINT) and SIGTERM, which cluster schedulers send before SIGKILL,
/// end the fit after the current step with a checkpoint and an
/// InterruptedError; calibration, validation and the last step are completed
/// first. A second Ctrl-C ends the program at once. A signal handler of the
/// program takes precedence; fit then ignores the signal.
///
/// Throws: ValueError for
/// - options out of range, a batch size above the number of samples, or several
///   callbacks that set final weights;
/// - data or augmentation that does not match the model or the loss;
/// - a quantized model without calibration;
/// - a loss that is not finite, with the step and the first cause;
/// - a number of shards or ranks that is not allowed, or ranks whose model,
///   data or options differ, with the differences;
/// - existing checkpoints without `resume`, or checkpoints of a different
///   model, data or options, with the differences.
/// An error on any rank is thrown on all ranks. InterruptedError after a
/// signal. IoError: see Checkpointer.
History fit(Model& model, const Dataset& data, const FitOptions& options = {});

}  // namespace octet::train
