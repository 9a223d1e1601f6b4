// What a fit does with its checkpoints: finds the state to go on from, checks
// that it fits, puts it back, saves new ones. Internal to train.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include <octet/train/fit.h>

#include "digest.h"
#include "fit_options.h"

namespace octet::train {

/// Where a fit stands between two steps of the optimizer.
struct Standing {
  Progress progress;  ///< the epoch, and the batches of it that are done
  double loss_total = 0;
  std::vector<double> metric_sums = {};
  bool epoch_done = false;  ///< the next one has not begun
  Digest factors = {};      ///< those of the schedule so far
  History history = {};     ///< of the epochs that are done
};

class FitCheckpoints {
 public:
  /// Claims the place and looks for a state if the fit is to go on. Changes
  /// nothing else. `updates` is how many steps of the optimizer an epoch has.
  /// Throws: as fit().
  FitCheckpoints(const Model& model, const FitOptions& options,
                 const Parts& parts, int64_t batch_size, const Metrics& metrics,
                 int64_t updates);

  /// Whether there is a state to go on from.
  bool resumes() const { return state_.has_value(); }
  /// Puts it back into callbacks, optimizer and model, and lets go of it.
  /// `standing` is what a fit begins with. REQUIRES: resumes(), and the
  /// optimizer is attached.
  void restore(Training& training, Standing& standing);

  /// Before the first step. Throws: what saving throws.
  void begin(const Training& training, const Standing& standing);
  /// Saves if one is wanted now; an IoError becomes a warning.
  void after_step(const Training& training, const Standing& standing);
  void after_epoch(const Training& training, const Standing& standing);

 private:
  void check(const TrainingState& state) const;
  void check_standing(const Config& progress) const;
  void save(const Training& training, const Standing& standing) const;
  void save_or_warn(const Training& training, const Standing& standing) const;

  const Model& model_;
  const FitOptions& options_;
  int64_t updates_;
  std::shared_ptr<void> claim_;
  Config setup_;
  std::optional<TrainingState> state_;
};

}  // namespace octet::train
