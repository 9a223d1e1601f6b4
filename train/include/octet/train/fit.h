// fit: the training loop.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <octet/layers/model.h>
#include <octet/quant/calibrate.h>
#include <octet/runtime/dataset.h>
#include <octet/train/augment.h>
#include <octet/train/callback.h>
#include <octet/train/checkpointer.h>
#include <octet/train/communicator.h>
#include <octet/train/evaluate.h>
#include <octet/train/loss.h>
#include <octet/train/optimizer.h>
#include <octet/train/schedule.h>

namespace octet::train {

struct EpochResult {
  double loss = 0;           ///< on training batches, with regularization
  double accuracy = 0;       ///< on training batches, [0, 1], or NaN
  double seconds = 0;        ///< training only
  double learning_rate = 0;  ///< at the last step
  std::vector<Evaluation> validation = {};   ///< one, if there is such data
  std::vector<MetricValue> metrics = {};     ///< on training batches
  std::optional<double> gradient_norm = {};  ///< as Progress has it
};
using History = std::vector<EpochResult>;

/// Over what batch normalization takes its statistics in training.
enum class BatchStatistics {
  per_shard,     ///< each shard its own
  synchronized,  ///< the whole batch, whatever shards and ranks compute it
};

/// Fields in order: epochs, batch_size, optimizer, schedule, seed, validation,
/// callbacks, verbose, loss, metrics, calibrate, validation_split,
/// validation_batch_size, class_weights, clip_norm, clip_value, gradient_norm,
/// accumulate, augmentation, prefetch, workers, checkpoints, resume, shards,
/// batch_statistics, renews_statistics, communicator
struct FitOptions {
  int64_t epochs = 1;
  /// 64, or all samples if there are fewer, unless given.
  std::optional<int64_t> batch_size = {};
  Optimizer optimizer = Adam();
  Schedule schedule = constant();  ///< over all steps of this fit
  uint64_t seed = 0;               ///< of the shuffling and augmentation
  const Dataset* validation = nullptr;
  Callbacks callbacks = {};
  /// Show a progress_bar(); unless given, where standard output is a terminal
  /// and no callback is one.
  std::optional<bool> verbose = {};
  /// Of the only output, or of several: see Losses.
  Losses loss = losses::sparse_categorical_cross_entropy();
  Metrics metrics = {};  ///< of the only output; none: those of the loss
  /// Calibrate a quantized model on the training data before the first step,
  /// if it is not: `.calibrate = quant::CalibrationOptions{.samples = 1024}`.
  std::optional<quant::CalibrationOptions> calibrate = {};
  /// Validate on this last part of the data instead of training on it, [0, 1).
  /// Not for data sorted by class: see Dataset::split().
  double validation_split = 0;
  int64_t validation_batch_size = 1000;
  /// Weights of the samples by their class, two for a single output of a
  /// binary model; empty: all 1. For labels i64, also after augmentation.
  std::vector<float> class_weights = {};
  float clip_norm = 0;   ///< bound of all gradients' norm together; 0: none
  float clip_value = 0;  ///< bound of each gradient's magnitude; 0: none
  /// Report "gradient_norm": that of all gradients together before they are
  /// clipped, as a mean over the steps of an epoch.
  bool gradient_norm = false;
  /// Batches whose gradients make one step: the mean over all their samples.
  int64_t accumulate = 1;
  /// Random changes of the training batches; validation sees none.
  Augmentation augmentation = {};
  int64_t prefetch = 0;  ///< whole batches made ahead; see LoaderOptions
  int64_t workers = 1;   ///< threads that make them ahead
  /// Where states of the fit are kept; io::checkpoint_folder makes one.
  std::shared_ptr<Checkpointer> checkpoints = {};
  /// Go on from the newest whole state there, or begin if there is none. The
  /// model is as it was when the fit began.
  bool resume = false;
  /// Cut each batch in so many shards, a power of two that divides the batch
  /// size. Each goes through the model alone, with a random stream of its own
  /// and, by default, statistics of batch normalization, and the gradients are
  /// added in a fixed order: the result depends on the shards, not on how many
  /// ranks compute them. Not given: 1, the batch as a whole; with a
  /// communicator 8.
  std::optional<int64_t> shards = {};
  /// Of the whole batch: scales that follow are then those of all shards at
  /// once, too. Shards go through the model side by side, and keep what their
  /// backward passes need at the same time.
  BatchStatistics batch_statistics = BatchStatistics::per_shard;
  /// Whether the caller runs update_batch_statistics() after the fit: then no
  /// warning tells that running statistics lag behind the weights.
  bool renews_statistics = false;
  /// The ranks that train together, if any: a power of two up to the shards.
  /// All call fit() with the same model, data and options.
  Communicator* communicator = nullptr;
};

/// Trains in place. Same seed and data: the same bits, whatever the number of
/// threads. So does a fit that was ended at any moment and is resumed, in
/// weights and history (seconds apart). A fit that had come to its end returns
/// at once, with what it returned. A state that cannot be saved is a warning,
/// but for the first one. Cross-entropies and metrics see from the end of the
/// model whether it gives logits or probabilities. Warns where the validation
/// data lacks classes of the training data.
/// Ctrl-C (SIGINT) ends it after the step that runs, with a state in its
/// checkpoints; calibration, validation and the last step of all run to their
/// end. Pressed twice it ends the program at once. SIGTERM, which clusters send
/// before they kill, ends a fit in the same way. A handler that the program has
/// stays, and fit knows nothing of the signal. Throws: ValueError for options
/// out of range, a batch size above the number of samples, data or augmentation
/// that does not fit the model or the loss, a quantized model that is not
/// calibrated, or a loss that is not finite (naming the step and what else is
/// not); several callbacks that set final weights; another number of shards or
/// ranks, ranks whose models, data or options differ, saying how, and what
/// throws on any of the ranks; checkpoints without `resume` where there are
/// states, or states of another model, data or options, listing what differs.
/// InterruptedError. IoError: see Checkpointer.
History fit(Model& model, const Dataset& data, const FitOptions& options = {});

}  // namespace octet::train
