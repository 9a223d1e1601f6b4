// What a fit does with its checkpoints: finds the state to go on from, checks
// that it fits, puts it back, saves new ones. Internal to train.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <octet/train/fit.h>

#include "fit_options.h"
#include "fit_state.h"

namespace octet::train {

/// The first rank reads and writes files. All ranks call all functions but
/// wanted() at the same places.
class FitCheckpoints {
 public:
  /// Claims the place and looks for a state if the fit is to go on. Changes
  /// nothing else. `updates` is how many steps of the optimizer an epoch has.
  /// Throws: as fit().
  FitCheckpoints(Model& model, const FitOptions& options, const DataSplit& data,
                 int64_t batch_size, const TrainedOutputs& trained,
                 int64_t updates, Communicator& ranks);

  /// Whether there is a state to go on from.
  bool resumes() const { return found_.has_value(); }
  /// Puts it back into callbacks, optimizer and model, and lets go of it.
  /// `state` is what a fit begins with; `first_owned` is the place of the
  /// first parameter that the optimizer of this rank moves. REQUIRES:
  /// resumes(), and the optimizer is attached.
  void restore(Training& training, FitState& state, size_t first_owned);

  /// Before the first step. Throws: what saving throws.
  void begin(const Training& training, const FitState& state);
  /// Whether the place wants a state now. For the first rank to say.
  bool wanted(const Training& training) const;
  /// Saves a state; an IoError becomes a warning.
  void keep(const Training& training, const FitState& state);
  /// Whether the latest save came to its end.
  bool saved() const { return saved_; }

 private:
  void check(const TrainingState& saved) const;
  void check_progress(const Config& progress) const;
  void look_for_state(const Checkpointer& place);
  NamedTensors slots_of_all_ranks(const OptimizerState& optimizer) const;
  std::vector<std::pair<std::string, Callback*>> stateful_callbacks() const;
  /// Throws: on all ranks, what saving throws on the first one.
  void save(const Training& training, const FitState& state) const;

  /// Their names, in the order in which fit() attaches them.
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
