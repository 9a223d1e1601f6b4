// update_batch_statistics: re-estimates the running statistics of batch
// normalization.
#pragma once

#include <cstdint>

#include <octet/layers/model.h>
#include <octet/runtime/dataset.h>

namespace octet::train {

/// Fields in order: batch_size, samples, seed
struct BatchStatisticsOptions {
  int64_t batch_size = 64;
  int64_t samples = 0;  ///< number of samples, a random subset; 0: all
  uint64_t seed = 0;    ///< for selection and order of the samples
};

/// Sets the running means and variances of all layers that are not frozen to
/// their averages over the batches of `data` with the current parameters; for
/// weights that were averaged or modified after training. Parameters stay
/// unchanged. Returns the number of updated layers.
/// As PyTorch's torch.optim.swa_utils.update_bn, but batches are weighted by
/// their samples, and every call of a shared layer counts.
/// Throws: ValueError for options out of range, data that does not match the
/// model, or a batch that is not finite; errors of the data source. The
/// statistics are then unchanged.
int64_t update_batch_statistics(Model& model, const Dataset& data,
                                const BatchStatisticsOptions& options = {});

}  // namespace octet::train
