// keep_best: the callback that leaves a model as it was at its best: before the
// fit, or after one of its epochs. Fine-tuning then never makes a model worse.
//
//   const auto best = train::keep_best(validation);
//   train::fit(int8, training, {.epochs = 5, .callbacks = {best}});
//   best->best();                // 0: as before the fit; 2: after epoch 2
//   best->evaluations().back();  // of the last epoch
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
  /// Loss and metrics that models are judged by, usually those of the fit.
  Losses loss = losses::sparse_categorical_cross_entropy();
  Metrics metrics = {};
  /// The decisive value: "loss", or the name of a metric, of which higher is
  /// better if the name contains "accuracy". Empty: the first metric if there
  /// is one output and that metric is an accuracy, the loss otherwise.
  std::string monitor = {};
  /// Number of samples per batch when models are judged.
  int64_t batch_size = 1000;
  /// Data from which a copy of the model re-estimates the statistics of batch
  /// normalization before an epoch is judged, by update_batch_statistics(); the
  /// best model has these statistics. For fits in which running statistics lag
  /// behind the weights; frozen statistics stay as they are.
  std::optional<Dataset> renew_statistics = {};
  BatchStatisticsOptions statistics = {};
};

/// Evaluates the model on the same data before the first step and after each
/// epoch, and restores the best one at the end of the fit: parameters,
/// statistics and the scales of quantizers that training moves. Equal values
/// are decided by the lower loss, then in favor of the earlier model; NaN is
/// never better. Costs an evaluation per epoch and a copy of the parameters,
/// and is part of checkpoints. A model whose scales follow training, and which
/// has none yet, is not a candidate before the first epoch.
class KeepBest : public Callback {
 public:
  /// The evaluation before the fit, then one for each epoch. An evaluation of 0
  /// samples stands for a model that was not judged.
  const std::vector<Evaluation>& evaluations() const { return evaluations_; }
  /// Index of the restored model in evaluations(): 0 is the model before the
  /// fit, n that after the n-th epoch.
  int64_t best() const { return best_; }
  /// The decisive value of an evaluation, and its name.
  double score(const Evaluation& evaluation) const;
  std::string monitor() const;

 protected:
  /// Whether `a` is better than `b`.
  bool is_better(const Evaluation& a, const Evaluation& b) const;

  KeepBestOptions options_;
  std::vector<Evaluation> evaluations_;
  int64_t best_ = 0;
};

/// Judges by `data`: validation data or, if there is none, the training data.
/// Throws: ValueError for options out of range; as the fit begins, as
/// evaluate(), and NotFoundError for an unknown `monitor`.
std::shared_ptr<KeepBest> keep_best(const Dataset& data,
                                    const KeepBestOptions& options = {});

}  // namespace octet::train
