// Loader: iterates over a dataset in batches, with shuffling, augmentation and
// optional prefetching by worker threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>

#include <octet/runtime/dataset.h>
#include <octet/train/augment.h>

namespace octet::train {

/// Fields in order: batch_size, shuffle, seed, epoch, augmentation, prefetch,
/// workers, shards, first_shard, last_shard
struct LoaderOptions {
  int64_t batch_size = 64;
  bool shuffle = true;
  uint64_t seed = 0;
  int64_t epoch = 0;  ///< each epoch has a different order
  Augmentation augmentation = {};
  /// Number of batches prepared ahead of the current batch, [0, 1024]. 0
  /// prepares each batch in the thread that requests it.
  int64_t prefetch = 0;
  /// Number of prefetch threads, [1, 64]. Each runs its parallel loops
  /// serially.
  int64_t workers = 1;
  /// Number of shards per batch; their sizes differ by at most 1. The loader
  /// returns shards [first_shard, last_shard) of each batch in order, each as a
  /// separate batch; last_shard = 0 means all. Augmentation is applied per
  /// shard. If the last batch has fewer samples than shards, its last shards
  /// have no inputs.
  int64_t shards = 1;
  int64_t first_shard = 0;
  int64_t last_shard = 0;
};

/// A range of batches for a for loop. The last batch may be smaller. Order and
/// contents depend on the seed and the epoch only, not on `prefetch` or
/// `workers`.
///
/// With prefetch, each begin() or from() starts threads, which end with the
/// last copy of the iterator; its destructor waits for batches in preparation.
/// Errors of a prefetch thread are thrown when the batch is requested.
/// Throws: ValueError for options out of range.
class Loader {
 public:
  Loader(Dataset data, const LoaderOptions& options);

  /// Returns the number of batches; here and below, each shard counts as a
  /// batch.
  int64_t batches() const;
  /// Prepares a batch in the calling thread.
  /// Throws: ValueError unless index is in [0, batches()).
  Batch batch(int64_t index) const;

  /// Data, order and random stream of an epoch.
  class Epoch;
  class Prefetcher;

  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = Batch;
    using difference_type = std::ptrdiff_t;
    using pointer = const Batch*;
    using reference = Batch;

    Batch operator*() const;
    Iterator& operator++();
    void operator++(int) { ++*this; }
    bool operator==(const Iterator& other) const {
      return index_ == other.index_;
    }

   private:
    friend Loader;
    Iterator(std::shared_ptr<const Epoch> epoch,
             std::shared_ptr<Prefetcher> prefetcher, int64_t index);

    std::shared_ptr<const Epoch> epoch_;
    std::shared_ptr<Prefetcher> prefetcher_;  // may be null
    int64_t index_;
  };
  Iterator begin() const;
  /// Returns an iterator at `batch`, in [0, batches()]; earlier batches are not
  /// prepared. Throws: ValueError for a batch out of range.
  Iterator from(int64_t batch) const;
  Iterator end() const;

 private:
  std::shared_ptr<const Epoch> epoch_;
};

}  // namespace octet::train
