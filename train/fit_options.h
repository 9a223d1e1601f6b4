// What fit makes of its options before it begins. Internal to train.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <octet/train/fit.h>

namespace octet::train {

/// Data to train on, and to validate on if there is any.
struct DataSplit {
  Dataset training;
  std::optional<Dataset> validation;
};

/// The options as they are for the model: its end decides on what loss and
/// metrics are taken. Throws: as fit, also for data that does not fit the
/// model.
FitOptions options_for(const Model& model, const Dataset& data,
                       const FitOptions& options);

/// Checks everything but the batch size, and cuts off the validation part.
/// Throws: as fit.
DataSplit check_and_split(const Model& model, const Dataset& data,
                          const FitOptions& options);

/// Of batches of `data`. Throws: ValueError for one out of range.
int64_t batch_size_of(const Dataset& data, const FitOptions& options);

/// What Progress::logs() names at the end of an epoch.
std::vector<std::string> log_names(const Metrics& metrics, bool validation);

}  // namespace octet::train
