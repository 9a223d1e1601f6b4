// CrossShardReduction: reductions across the shards of a batch. Shards pass
// through a model interleaved; without CrossShardReduction each shard is an
// independent batch.
//
// A custom layer that updates statistics in training reduces them over all
// shards; the first shard updates them:
//
//   std::vector<double> sums = ...;  // of this shard
//   CrossShardReduction* const parts = batch_parts();
//   if (parts != nullptr) parts->sum(sums);
//   if (trainable() && (parts == nullptr || parts->first())) {
//     at(mean_).variable.assign(...);
//   }
#pragma once

#include <cstdint>
#include <span>

#include <octet/runtime/detail/language.h>

namespace octet {

/// Reductions over the shards of a batch. Each shard has its own object;
/// batch_parts() returns that of the calling thread.
class CrossShardReduction {
 public:
  CrossShardReduction() = default;
  virtual ~CrossShardReduction() = default;
  CrossShardReduction(const CrossShardReduction&) = delete;
  CrossShardReduction& operator=(const CrossShardReduction&) = delete;

  /// Replaces `values` with their sum over all shards, in an order independent
  /// of where shards run, or with the maximum. Every shard must call the same
  /// reductions in the same order, whatever its samples are; each call blocks
  /// until all shards have called it.
  /// Throws: ValueError if shards call different reductions, or with different
  /// numbers of values.
  virtual void sum(std::span<double> values) = 0;
  virtual void max(std::span<double> values) = 0;

  /// Index of this shard, from 0, and whether it is the first. The first shard
  /// updates shared state (running statistics, scales) after all shards have
  /// reached a reduction and before any other continues.
  virtual int64_t part() const = 0;
  bool first() const { return part() == 0; }
};

/// The CrossShardReduction of this thread; null if batches are not sharded.
CrossShardReduction* batch_parts();

/// Sets the CrossShardReduction of this thread for the guard's lifetime; null:
/// none.
class BatchPartsGuard {
 public:
  /// `parts` must outlive the guard. The destructor restores the previous one.
  explicit BatchPartsGuard(CrossShardReduction* parts);
  ~BatchPartsGuard();
  BatchPartsGuard(const BatchPartsGuard&) = delete;
  BatchPartsGuard& operator=(const BatchPartsGuard&) = delete;

 private:
  CrossShardReduction* before_;
};

}  // namespace octet
