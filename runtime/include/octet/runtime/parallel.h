// Parallel loops on a thread pool. Work is split by shape, never by the number
// of threads, so results are bit-identical for any number of threads.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include <octet/runtime/detail/language.h>

namespace octet {

/// Threads used by parallel_for. Default: the number of cores.
int num_threads();
/// Sets the number of threads of parallel_for(), which must not be running.
/// Throws: ValueError for count < 1.
void set_num_threads(int count);

/// Threads available to a parallel_for started here: 1 inside another
/// parallel_for, at most the ThreadLimit.
int available_threads();

namespace detail {
/// Implements the template below: calls `run(body, i)`.
void parallel_for(int64_t tasks, void (*run)(const void*, int64_t),
                  const void* body);
}  // namespace detail

/// Runs `body(i)` for i in [0, tasks) in any order, and waits. Serial inside a
/// SerialGuard or another parallel_for. Rethrows exceptions of tasks.
template <class Body>
void parallel_for(int64_t tasks, const Body& body) {
  detail::parallel_for(
      tasks,
      [](const void* b, int64_t i) { (*static_cast<const Body*>(b))(i); },
      std::addressof(body));
}

/// Number of chunks of parallel_chunks(): at most 16, by n alone.
constexpr int64_t chunk_count(int64_t n) { return n < 16 ? n : 16; }
/// Splits [0, n) into chunk_count(n) chunks of equal size, up to rounding, and
/// runs `body(first, last, chunk)` for each range [first, last), as
/// parallel_for().
template <class Body>
void parallel_chunks(int64_t n, const Body& body) {
  const int64_t chunks = chunk_count(n);
  parallel_for(chunks, [&](int64_t chunk) {
    body(n * chunk / chunks, n * (chunk + 1) / chunks, chunk);
  });
}

/// Loops over fewer values run on a single thread.
inline constexpr int64_t kFewValues = int64_t{1} << 14;

/// Limits the threads of parallel loops started by this thread, itself
/// included, for the guard's lifetime. Of nested limits the smaller applies.
class ThreadLimit {
 public:
  /// 0: no limit.
  explicit ThreadLimit(int most);
  ~ThreadLimit();
  ThreadLimit(const ThreadLimit&) = delete;
  ThreadLimit& operator=(const ThreadLimit&) = delete;

 private:
  int before_;
};

/// Runs the parallel loops of this thread serially for the guard's lifetime.
class SerialGuard : ThreadLimit {
 public:
  /// No effect unless `serial`.
  explicit SerialGuard(bool serial = true) : ThreadLimit(serial ? 1 : 0) {}
};

// CrossShardReduction: reductions across the shards of a batch. Shards pass
// through a model interleaved; without CrossShardReduction each shard is an
// independent batch.
//
// A custom layer that updates statistics in training reduces them over all
// shards; the first shard updates them:
//
//   std::vector<double> sums = ...;  // of this shard
//   CrossShardReduction* const parts = cross_shard_reduction();
//   if (parts != nullptr) parts->sum(sums);
//   if (trainable() && (parts == nullptr || parts->first())) {
//     at(mean_).variable.assign(...);
//   }

/// Reductions over the shards of a batch. Each shard has its own object;
/// cross_shard_reduction() returns that of the calling thread.
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
  virtual int64_t shard() const = 0;
  bool first() const { return shard() == 0; }
};

/// The CrossShardReduction of this thread; null if batches are not sharded.
CrossShardReduction* cross_shard_reduction();

/// Sets the CrossShardReduction of this thread for the guard's lifetime; null:
/// none.
class CrossShardReductionGuard {
 public:
  /// `parts` must outlive the guard. The destructor restores the previous one.
  explicit CrossShardReductionGuard(CrossShardReduction* parts);
  ~CrossShardReductionGuard();
  CrossShardReductionGuard(const CrossShardReductionGuard&) = delete;
  CrossShardReductionGuard& operator=(const CrossShardReductionGuard&) = delete;

 private:
  CrossShardReduction* before_;
};

}  // namespace octet
