// What two fits must have in common for one to go on where the other stood.
// Internal to train.
#pragma once

#include <cstdint>

#include <octet/runtime/config.h>
#include <octet/train/fit.h>

#include "fit_options.h"

namespace octet::train {

/// Options, optimizer, data and moved parameters as values. Of the data it
/// takes what the first batch and the first validation sample are.
Config setup_of(const Model& model, const FitOptions& options,
                const Parts& parts, int64_t batch_size, const Metrics& metrics);

/// A model's graph and plan without what has no part in results.
Config comparable(const quant::ModelState& model);

/// The digest of the schedule's factors for steps [0, count).
int64_t digest_of(const Schedule& schedule, int64_t count, int64_t total);

}  // namespace octet::train
