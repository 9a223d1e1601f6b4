// Check that all ranks run the same fit. Internal to train.
#pragma once

#include <octet/train/communicator.h>
#include <octet/train/fit.h>

#include "loop/fit_options.h"

namespace octet::train {

/// Compares model, data, options and instruction set of all ranks with the
/// first rank. `updates` is the number of optimizer steps per epoch. Throws: on
/// all ranks, ValueError with the differences of the first rank that differs;
/// errors of reading the first batch.
void expect_equal_ranks(Communicator& ranks, const Model& model,
                        const FitOptions& options, const DataSplit& data,
                        int64_t batch_size, const TrainedOutputs& trained,
                        int64_t updates);

}  // namespace octet::train
