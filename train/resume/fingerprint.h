// Fingerprints of a fit and its model: what must be equal for a fit to resume
// from a checkpoint. Internal to train.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <octet/runtime/config.h>
#include <octet/train/fit.h>

#include "fit_options.h"

namespace octet::train {

/// Options, optimizer, data, the weights the fit begins with and the names of
/// those it trains. The data is hashed by its first batch and its first
/// validation sample.
Config fit_fingerprint(const Model& model, const FitOptions& options,
                       const DataSplit& data, int64_t batch_size,
                       const TrainedOutputs& trained);

/// A model's graph and plan without what does not affect results.
Config model_fingerprint(const quant::ModelState& model);

/// Of the schedule's factors for steps [0, count) of `total`.
int64_t schedule_fingerprint(const Schedule& schedule, int64_t count,
                             int64_t total);

/// "fit seed: 5 there, 6 here; ..." with the first few values that differ
/// between a saved fingerprint and that of the present fit, and how many more
/// there are. Empty if they are equal. Entries of a list that have a name are
/// told by it.
std::string differences(const Config& there, const Config& here,
                        std::string_view there_name = "there",
                        std::string_view here_name = "here");

}  // namespace octet::train
