// FitCheckpoints: loads, checks, restores and saves the states of a fit.
// Internal to train.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <octet/train/fit.h>

#include "fit_state.h"
#include "loop/fit_options.h"

namespace octet::train {

/// The first rank reads and writes files. All functions except wanted() are
/// collective: all ranks must call them.
class FitCheckpoints {
 public:
  /// Locks the storage and, if the fit resumes, loads the newest state. Changes
  /// nothing else. `updates` is the number of optimizer steps per epoch.
  /// Throws: as fit().
  FitCheckpoints(Model& model, const FitOptions& options, const DataSplit& data,
                 int64_t batch_size, const TrainedOutputs& trained,
                 int64_t updates, Communicator& ranks);

  /// Whether a state was loaded.
  bool resumes() const { return found_.has_value(); }
  /// Restores callbacks, optimizer and model from the loaded state and releases
  /// it. `state` has its initial value; `first_owned` is the index of the first
  /// parameter that this rank's optimizer updates.
  /// REQUIRES: resumes(), attached optimizer.
  void restore(Training& training, FitState& state, size_t first_owned);

  /// Saves the initial state. Throws: errors of saving.
  void begin(const Training& training, const FitState& state);
  /// Whether the storage requests a state now. Only the first rank's result
  /// counts.
  bool wanted(const Training& training) const;
  /// Saves a state; an IoError becomes a warning.
  void keep(const Training& training, const FitState& state);
  /// Whether the latest save succeeded.
  bool saved() const { return saved_; }

 private:
  void check(const TrainingState& saved) const;
  void check_progress(const Config& progress) const;
  void look_for_state(const Checkpointer& place);
  NamedTensors slots_of_all_ranks(const OptimizerState& optimizer) const;
  std::vector<std::pair<std::string, Callback*>> stateful_callbacks() const;
  /// Throws: on all ranks, an error of saving on the first rank.
  void save(const Training& training, const FitState& state) const;

  /// Returns the names of the trained parameters in order of attachment.
  const Config::List& trained_parameters() const {
    return fingerprint_.at("parameters").as_list();
  }

  Model& model_;
  const FitOptions& options_;
  int64_t updates_;
  Communicator& ranks_;
  std::shared_ptr<void> claim_;
  Config fingerprint_;
  std::optional<TrainingState> found_;
  bool saved_ = false;
};

}  // namespace octet::train
