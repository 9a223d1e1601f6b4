// DataLoader: batches of a data set with the names and defaults of
// torch.utils.data.DataLoader.
#pragma once

#include <cstdint>

#include <octet/runtime/dataset.h>
#include <octet/train/loader.h>

namespace octet::train {

/// Defaults are PyTorch's: batches of 1 in the order of the data. (Loader
/// shuffles by default, in batches of 64.)
/// Fields in order: batch_size, shuffle, num_workers, drop_last, seed
struct DataLoaderOptions {
  int64_t batch_size = 1;  ///< samples, at least 1
  bool shuffle = false;    ///< another order in each pass over the data
  /// Number of threads that prepare batches, [0, 64], two batches each ahead; 0
  /// prepares them in the thread of the loop.
  int64_t num_workers = 0;
  bool drop_last = false;  ///< drop a last batch of fewer samples
  uint64_t seed = 0;       ///< of the order
};

/// Batches for a range-based for loop:
///
///   DataLoader loader(data, {.batch_size = 64, .shuffle = true});
///   for (const Batch& batch : loader) { ... }
///
/// Each loop is an epoch: with `shuffle`, its order depends on the seed and on
/// the number of loops before. Not thread-safe.
class DataLoader {
 public:
  /// Throws: ValueError for options out of range.
  explicit DataLoader(Dataset data, const DataLoaderOptions& options = {});

  /// Returns the number of batches, PyTorch's len(loader).
  int64_t size() const;
  /// Returns the samples.
  const Dataset& dataset() const { return data_; }

  /// Begins the next epoch. Iterators of the previous epoch stay valid.
  Loader::Iterator begin();
  /// Returns the end of each epoch.
  Loader::Iterator end() const { return end_; }

 private:
  Loader epoch_loader(int64_t epoch) const;

  Dataset data_;
  DataLoaderOptions options_;
  int64_t epochs_ = 0;  // begun
  Loader loader_;
  Loader::Iterator end_;
};

}  // namespace octet::train
