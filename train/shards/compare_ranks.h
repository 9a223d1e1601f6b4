// Whether all ranks are about to do the same. Internal to train.
#pragma once

#include <octet/train/communicator.h>
#include <octet/train/fit.h>

#include "fit_options.h"

namespace octet::train {

/// Compares model, data, options and processor of all ranks with those of the
/// first one. `updates` is how many steps of the optimizer an epoch has.
/// Throws: ValueError on all ranks, with what differs on the first rank that
/// does; what reading the first batch throws.
void expect_equal_ranks(Communicator& ranks, const Model& model,
                        const FitOptions& options, const DataSplit& data,
                        int64_t batch_size, const TrainedOutputs& trained,
                        int64_t updates);

}  // namespace octet::train
