// The running statistics of batch normalization, computed anew.
#pragma once

#include <cstdint>

#include <octet/layers/model.h>
#include <octet/runtime/dataset.h>

namespace octet::train {

/// Fields in order: batch_size, samples, seed
struct BatchStatisticsOptions {
  int64_t batch_size = 64;
  int64_t samples = 0;  ///< so many, chosen by chance; 0: all
  uint64_t seed = 0;    ///< of their choice and order
};

/// Sets the running means and variances of the layers that have any, and are
/// not frozen, to the averages over batches of `data` under the parameters as
/// they are now: after weights were averaged or changed by hand. Parameters
/// stay. Returns how many layers it set.
/// As PyTorch's torch.optim.swa_utils.update_bn, with batches counting by their
/// samples, and each call of a layer that is called several times.
/// Throws: ValueError for options out of range, data that does not fit, or a
/// batch that is not finite, and what reading data throws; the statistics are
/// then as they were.
int64_t update_batch_statistics(Model& model, const Dataset& data,
                                const BatchStatisticsOptions& options = {});

}  // namespace octet::train
