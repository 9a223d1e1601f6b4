// FitState: the progress of a fit between two optimizer steps, and its format
// in checkpoints; names of parameters in checkpoints. Internal to train.
#pragma once

#include <string>
#include <vector>

#include <octet/layers/model.h>
#include <octet/runtime/config.h>
#include <octet/runtime/detail/fnv1a.h>
#include <octet/train/fit.h>

namespace octet::train {

struct FitState {
  Progress progress;  ///< epoch and completed batches
  double loss_total = 0;
  double norm_total = 0;  ///< sum of gradient norms of this epoch's steps
  int64_t norm_count = 0;
  std::vector<double> metric_sums = {};
  bool epoch_done = false;  ///< between two epochs
  Fnv1a schedule = {};      ///< hash of the schedule's factors so far
  History history = {};     ///< completed epochs
};

Config to_config(const FitState& state);
Config to_config(const Evaluation& evaluation);
/// Inverse of to_config().
/// Throws: ValueError, NotFoundError for an invalid value.
Evaluation evaluation_from(const Config& config);

/// Restores the fields that to_config() writes; other fields of `state` stay.
/// Throws: ValueError, NotFoundError for an invalid value.
void restore_from(const Config& config, FitState& state);

struct NamedParameter {
  /// "conv1/kernel:0". The suffix prevents collisions with nested layers.
  /// Uses layer names of the float model.
  std::string name;
  Parameter parameter;
};

/// Returns the distinct parameters in the order of Model::parameters(), then
/// the quantizer scales that training changes.
std::vector<NamedParameter> named_parameters(const Model& model);

}  // namespace octet::train
