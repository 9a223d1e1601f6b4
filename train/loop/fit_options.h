// Checks and defaults of FitOptions. Internal to train.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <octet/train/fit.h>

#include "trained_outputs.h"

namespace octet::train {

/// Training data and optional validation data.
struct DataSplit {
  Dataset training;
  std::optional<Dataset> validation;
};

/// Returns the options, with a progress bar among the callbacks if requested.
FitOptions with_progress_bar(const FitOptions& options);

/// Checks all options but the batch size and splits off the validation data.
/// Inputs and labels of the result are in the order of `trained`.
/// Throws: as fit().
DataSplit check_and_split(const Model& model, const Dataset& data,
                          const TrainedOutputs& trained,
                          const FitOptions& options);

/// Returns the number of shards per batch.
int64_t shards_of(const FitOptions& options);

/// Returns the batch size. Throws: ValueError if it is out of range.
int64_t batch_size_of(const Dataset& data, const FitOptions& options);

/// Throws: ValueError if a batch normalization has a single value per channel
/// in a shard, which normalizes to 0. Warns if this affects the last batch
/// only.
void check_shard_sizes(const Model& model, const FitOptions& options,
                       int64_t batch, int64_t samples);

/// Returns the names in Progress::logs() at the end of an epoch.
std::vector<std::string> log_names(const TrainedOutputs& trained,
                                   bool validation, bool gradient_norm);

/// Warns if the optimizer's steps are too large for learned scales, or
/// unsuitable for logarithmic scales.
void warn_of_scale_steps(const Model& model, const FitOptions& options);

/// Warns if `steps` are too few for the running statistics of batch
/// normalization to converge: inference would differ from training.
void warn_of_slow_statistics(const Model& model, int64_t steps);

/// Warns if weights are averaged, as running statistics belong to the latest
/// weights.
void warn_of_averaged_weights(const Model& model, const Callbacks& callbacks);

}  // namespace octet::train
