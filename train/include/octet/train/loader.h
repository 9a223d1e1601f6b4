// Loader: a dataset cut into batches, shuffled by a seed, augmented, and read
// ahead by threads of its own if wanted.
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
  int64_t epoch = 0;  ///< each epoch has an order of its own
  Augmentation augmentation = {};
  /// How many batches are made ahead of the one in use, [0, 1024]. 0 makes
  /// each in the thread that asks for it.
  int64_t prefetch = 0;
  /// Threads that make them, [1, 64], each without parallel loops of its own.
  int64_t workers = 1;
  /// Each batch is cut in so many shards, whose sizes differ by one at most,
  /// and of those [first_shard, last_shard) come one after another, each as a
  /// batch of its own; 0: all. Augmentation sees a shard. The last batch may
  /// have fewer samples than shards: then the last shards have no inputs.
  int64_t shards = 1;
  int64_t first_shard = 0;
  int64_t last_shard = 0;
};

/// A range of batches for a for loop. The last batch may be smaller. The
/// order is a function of seed and epoch only, and so are the batches,
/// whatever `prefetch` and `workers` are.
///
/// Each begin() or from() with prefetch starts threads, which end with the last
/// copy of that iterator; an iterator that is left early waits for the batch in
/// the making. What making a batch throws is thrown where the batch is asked
/// for. Throws: ValueError for options out of range.
class Loader {
 public:
  Loader(Dataset data, const LoaderOptions& options);

  /// Where batches are cut, here and below one for each shard that comes.
  int64_t batches() const;
  /// Made by this thread. Throws: ValueError for a batch there is not.
  Batch batch(int64_t index) const;

  /// One epoch: what batches are made from.
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
    std::shared_ptr<Prefetcher> prefetcher_;  // or none
    int64_t index_;
  };
  Iterator begin() const;
  /// The range from a batch in [0, batches()] on; those before are not made.
  /// Throws: ValueError for another one.
  Iterator from(int64_t batch) const;
  Iterator end() const;

 private:
  std::shared_ptr<const Epoch> epoch_;
};

}  // namespace octet::train
