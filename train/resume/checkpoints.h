// What a fit does with its checkpoints: finds the state to go on from, checks
// that it fits, puts it back, saves new ones. Internal to train.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include <octet/train/fit.h>

#include "fit_options.h"
#include "fit_state.h"

namespace octet::train {

class FitCheckpoints {
 public:
  /// Claims the place and looks for a state if the fit is to go on. Changes
  /// nothing else. `updates` is how many steps of the optimizer an epoch has.
  /// Throws: as fit().
  FitCheckpoints(Model& model, const FitOptions& options, const DataSplit& data,
                 int64_t batch_size, const TrainedOutputs& trained,
                 int64_t updates);

  /// Whether there is a state to go on from.
  bool resumes() const { return found_.has_value(); }
  /// Puts it back into callbacks, optimizer and model, and lets go of it.
  /// `state` is what a fit begins with. REQUIRES: resumes(), and the
  /// optimizer is attached.
  void restore(Training& training, FitState& state);

  /// Before the first step. Throws: what saving throws.
  void begin(const Training& training, const FitState& state);
  /// Saves if one is wanted now, or `always`; an IoError becomes a warning.
  void after_step(const Training& training, const FitState& state, bool always);
  void after_epoch(const Training& training, const FitState& state);
  /// Whether the latest save came to its end.
  bool saved() const { return saved_; }

 private:
  void check(const TrainingState& saved) const;
  void check_progress(const Config& progress) const;
  void save(const Training& training, const FitState& state) const;
  void save_or_warn(const Training& training, const FitState& state);

  /// Their names, in the order in which fit() attaches them.
  const Config::List& trained_parameters() const {
    return fingerprint_.at("parameters").as_list();
  }

  Model& model_;
  const FitOptions& options_;
  int64_t updates_;
  std::shared_ptr<void> claim_;
  Config fingerprint_;
  std::optional<TrainingState> found_;
  bool saved_ = false;
};

}  // namespace octet::train
