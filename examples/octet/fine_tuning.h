// Fine-tuning of models that are already trained: their learning rate, and a
// report of the model that was kept.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include <octet/io/training_config.h>
#include <octet/runtime/config.h>
#include <octet/train/keep_best.h>
#include <octet/train/optimizer.h>

#include "loss_options.h"
#include "training_options.h"

namespace octet::program {

struct FineTuning {
  train::Optimizer optimizer;
  std::string text;  ///< "adam at a learning rate of 1e-05, 1 % of ..."
};

struct FineTuningOptions {
  /// Learning rate of the fine-tuning, as a share of the training's largest.
  double share = 0.1;
  /// Optimizer where neither --optimizer nor the file names one.
  std::string optimizer = "sgd";
  /// Whether that optimizer alone will do, unless --optimizer says otherwise.
  bool only_this_optimizer = false;
  std::function<train::Optimizer(const std::string& optimizer, double rate)>
      make = make_optimizer;
};

/// Chooses optimizer and learning rate: those of --optimizer and --rate; else a
/// share of the learning rate in the model's file; else that share of
/// train::stable_rate(). A file that has the latest learning rate of a
/// training, which may have fallen, gets no higher one. Throws: as
/// stable_rate().
FineTuning choose_fine_tuning(const Model& model, const Dataset& training,
                              const Measured& by, const TrainingOptions& asked,
                              const std::optional<io::TrainingConfig>& trained,
                              const FineTuningOptions& options);

/// Result of a fine-tuning: figures of the model before it, after its last
/// epoch, and of the model that is kept.
struct Outcome {
  train::Evaluation start = {}, last = {}, kept = {};
  int64_t epoch = 0;  ///< of the kept model, from 1; 0: as before
  int64_t epochs = 0;
  double training_loss = 0;  ///< of the last epoch
  double seconds = 0;        ///< of training

  /// "kept: epoch 2 of 5 (92.10 %); calibrated 91.80 %, last epoch 90.00 %".
  std::string text(const Measured& by, const std::string& start_name) const;
  /// Whether the kept model is worse than the one before the fine-tuning.
  bool is_worse(const Measured& by) const;
};

struct FineTuneOptions {
  /// Keep the model after the last epoch, even if another one is better.
  bool force = false;
  /// Data to re-estimate batch statistics from; see train::KeepBestOptions.
  std::optional<Dataset> renew_statistics = {};
  train::BatchStatisticsOptions statistics = {.samples = 8192};
};

/// Runs fit() and leaves the best model by `judged`: that before it or that
/// after one of its epochs. Throws: as fit().
Outcome fine_tune(Model& model, const Dataset& training, const Dataset& judged,
                  const Measured& by, train::FitOptions fit,
                  const FineTuneOptions& options = {});

/// The value that decides which model is better: the accuracy of a single
/// output that has one, the loss otherwise.
struct Score {
  double value = 0;
  bool is_accuracy = false;

  std::string text() const;  ///< "92.10 %" or "loss 0.1234"
};
Score decisive_score(const Measured& by, const train::Evaluation& evaluation);

}  // namespace octet::program
