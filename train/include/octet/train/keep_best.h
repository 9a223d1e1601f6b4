// keep_best: callback that restores the best model of a fit, among the initial
// model and the model after each epoch. Fine-tuning then does not degrade the
// monitored value on the evaluation data.
//
//   const auto best = train::keep_best(validation);
//   train::fit(int8, training, {.epochs = 5, .callbacks = {best}});
//   best->best();                // 0: the initial model; 2: after epoch 2
//   best->evaluations().back();  // last epoch
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <octet/runtime/dataset.h>
#include <octet/train/batch_statistics.h>
#include <octet/train/callback.h>
#include <octet/train/evaluate.h>

namespace octet::train {

/// Fields in order: loss, metrics, monitor, batch_size, renew_statistics,
/// statistics
struct KeepBestOptions {
  /// Loss and metrics of the evaluations, usually the same as in the fit.
  Losses loss = losses::sparse_categorical_cross_entropy();
  Metrics metrics = {};
  /// Value to compare: "loss" or the name of a metric; higher is better if the
  /// name contains "accuracy". Empty: the first metric if the model has a
  /// single output and that metric is an accuracy, otherwise the loss.
  std::string monitor = {};
  int64_t batch_size = 1000;  ///< samples per batch of the evaluations
  /// Data for update_batch_statistics(), which re-estimates the statistics of
  /// batch normalization on a copy of the model before each evaluation; the
  /// best model receives these statistics. Set it if running statistics lag
  /// behind the weights. Frozen statistics are not updated. Default: evaluates
  /// with the running statistics.
  std::optional<Dataset> renew_statistics = {};
  BatchStatisticsOptions statistics = {};  ///< of update_batch_statistics()
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

  KeepBestOptions options_;
  std::vector<Evaluation> evaluations_;
  int64_t best_ = 0;
};

/// Creates the callback. `data` is the data of its evaluations: validation data
/// or, if there is none, the training data.
/// Throws: ValueError for options out of range; at the first evaluation of a
/// fit, errors of evaluate() and NotFoundError for an unknown `monitor`.
std::shared_ptr<KeepBest> keep_best(const Dataset& data,
                                    const KeepBestOptions& options = {});

}  // namespace octet::train
