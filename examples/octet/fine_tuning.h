// Fine-tuning of trained models: choice of the learning rate, and a report.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include <octet/io/keras.h>
#include <octet/runtime/config.h>
#include <octet/train/callback.h>
#include <octet/train/optimizer.h>

#include "loss_options.h"
#include "training_options.h"

namespace octet::program {

struct FineTuning {
  train::Optimizer optimizer;
  std::string text;  ///< "adam at a learning rate of 1e-05, 1 % of ..."
};

struct FineTuningOptions {
  /// Learning rate of fine-tuning as a share of the peak rate of the training.
  double share = 0.1;
  /// Optimizer if neither --optimizer nor the file names one.
  std::string optimizer = "sgd";
  /// Ignore optimizers named in the file unless they equal `optimizer`.
  bool only_this_optimizer = false;
  std::function<train::Optimizer(const std::string& optimizer, double rate)>
      make = make_optimizer;
};

/// Chooses optimizer and learning rate: from --optimizer and --rate; else a
/// share of the learning rate in the model file; else that share of
/// train::stable_rate(). If the file has the last learning rate of a training,
/// which may have decayed, the chosen rate does not exceed it.
/// Throws: as stable_rate().
FineTuning choose_fine_tuning(const Model& model, const Dataset& training,
                              const Measured& by, const TrainingOptions& asked,
                              const std::optional<io::TrainingConfig>& trained,
                              const FineTuningOptions& options);

/// Result of a fine-tuning: evaluations before it, after its last epoch, and of
/// the selected model.
struct Outcome {
  train::Evaluation start = {}, last = {}, selected = {};
  int64_t epoch = 0;  ///< epoch of the selected model, from 1; 0: initial model
  int64_t epochs = 0;
  double training_loss = 0;  ///< of the last epoch
  double seconds = 0;        ///< of training

  /// Returns "selected: epoch 2 of 5 (92.10 %); calibrated 91.80 %, last epoch
  /// 90.00 %".
  std::string text(const Measured& by, const std::string& start_name) const;
  /// Returns whether the selected model is worse than the initial model.
  bool is_worse(const Measured& by) const;
};

struct FineTuneOptions {
  /// Keep the model of the last epoch, even if another is better.
  bool last_epoch = false;
  /// Data to re-estimate batch statistics from; see train::KeepBestOptions.
  std::optional<Dataset> update_statistics = {};
  train::BatchStatisticsOptions statistics = {.samples = 8192};
};

/// Runs fit() and leaves the best model by `judged`: the initial model or that
/// of an epoch.
/// Throws: as fit().
Outcome fine_tune(Model& model, const Dataset& training,
                  const Dataset& evaluation_data, const Measured& by,
                  train::FitOptions fit, const FineTuneOptions& options = {});

/// Score that ranks models: the accuracy of a single output that has one, else
/// the loss.
struct Score {
  double value = 0;
  bool is_accuracy = false;

  std::string text() const;  ///< "92.10 %" or "loss 0.1234"
};
Score decisive_score(const Measured& by, const train::Evaluation& evaluation);

}  // namespace octet::program
