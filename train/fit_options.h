// What fit makes of its options before it begins. Internal to train.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <octet/train/fit.h>

#include "trained_outputs.h"

namespace octet::train {

/// Data to train on, and to validate on if there is any.
struct DataSplit {
  Dataset training;
  std::optional<Dataset> validation;
};

/// The options with the progress bar that they ask for.
FitOptions with_progress_bar(const FitOptions& options);

/// Checks everything but the batch size, and cuts off the validation part. The
/// data has its inputs and labels as `trained` wants them.
/// Throws: as fit.
DataSplit check_and_split(const Model& model, const Dataset& data,
                          const TrainedOutputs& trained,
                          const FitOptions& options);

/// How many shards a batch is cut in.
int64_t shards_of(const FitOptions& options);

/// Of batches of `data`. Throws: ValueError for one out of range.
int64_t batch_size_of(const Dataset& data, const FitOptions& options);

/// Throws: ValueError where batch normalization has one value of each channel
/// in a shard, from which nothing is learned. Warns of it in the last batch.
void check_shard_sizes(const Model& model, const FitOptions& options,
                       int64_t batch, int64_t samples);

/// What Progress::logs() names at the end of an epoch.
std::vector<std::string> log_names(const TrainedOutputs& trained,
                                   bool validation, bool gradient_norm);

/// Warns of an optimizer whose steps do not follow the size of gradients, and
/// are large beside scales that learn.
void warn_of_scale_steps(const Model& model, const FitOptions& options);

/// Warns of statistics of batch normalization that so few steps hardly move
/// from where they begin: inference would not see what was trained.
void warn_of_slow_statistics(const Model& model, int64_t steps);

/// Warns of weights that are averaged, whose running statistics are those of
/// the latest weights.
void warn_of_averaged_weights(const Model& model, const Callbacks& callbacks);

}  // namespace octet::train
