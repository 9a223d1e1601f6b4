// FitState: where a fit is between two steps of the optimizer, and how that
// and the names of parameters stand in a checkpoint. Internal to train.
#pragma once

#include <string>
#include <vector>

#include <octet/layers/model.h>
#include <octet/runtime/config.h>
#include <octet/runtime/fnv1a.h>
#include <octet/train/fit.h>

namespace octet::train {

struct FitState {
  Progress progress;  ///< the epoch, and the batches of it that are done
  double loss_total = 0;
  double norm_total = 0;  ///< of the gradients, over this epoch's steps
  int64_t norm_count = 0;
  std::vector<double> metric_sums = {};
  bool epoch_done = false;  ///< the next one has not begun
  Fnv1a schedule = {};      ///< over the schedule's factors so far
  History history = {};     ///< of the epochs that are done
};

Config to_config(const FitState& state);
Config to_config(const Evaluation& evaluation);
/// Throws: ValueError, NotFoundError for a value that to_config() does not
/// return.
Evaluation evaluation_from(const Config& config);

/// Sets what to_config() gave; the rest of `state` stays.
/// Throws: ValueError, NotFoundError for what it does not give.
void restore_from(const Config& config, FitState& state);

struct NamedParameter {
  /// "conv1/kernel:0", of the float model, so that the names of a layer's
  /// parameters and those of layers in it cannot meet.
  std::string name;
  Parameter parameter;
};

/// Each once, in the order of Model::parameters(), then the scales of
/// quantizers that training moves.
std::vector<NamedParameter> named_parameters(const Model& model);

}  // namespace octet::train
