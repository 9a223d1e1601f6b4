// Fingerprints of a fit and its model, which must be equal for a fit to resume
// from a checkpoint. Internal to train.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <octet/runtime/config.h>
#include <octet/train/fit.h>

#include "loop/fit_options.h"

namespace octet::train {

/// Fingerprint of options, optimizer, data, initial weights and names of
/// trained parameters. Data is represented by hashes of the first batch and the
/// first validation sample.
Config fit_fingerprint(const Model& model, const FitOptions& options,
                       const DataSplit& data, int64_t batch_size,
                       const TrainedOutputs& trained);

/// Fingerprint of a model's graph and plan, without details that do not affect
/// results.
Config model_fingerprint(const quant::ModelState& model);

/// Hash of the schedule's factors for steps [0, count) of `total`.
int64_t schedule_fingerprint(const Schedule& schedule, int64_t count,
                             int64_t total);

/// Returns the first differences of two fingerprints and the number of further
/// differences: "fit seed: 5 in the checkpoint, 6 in this fit; ... and 3 more".
/// Empty if they are equal. List entries are identified by their field "name",
/// if they have it.
std::string differences(const Config& there, const Config& here,
                        std::string_view there_name = "in the checkpoint",
                        std::string_view here_name = "in this fit");

}  // namespace octet::train
