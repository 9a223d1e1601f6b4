// How passes over the values of a tensor are cut for the threads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>

#include <octet/runtime/parallel.h>

namespace octet {

/// Values below which a partition is not worth a thread's start.
inline constexpr int64_t kLeastPartition = 8192;

/// Number of partitions of `n` values, by n alone.
constexpr int64_t partition_count(int64_t n) {
  return std::clamp<int64_t>(n / kLeastPartition, 1, 16);
}

/// Into how many bands of `rows` rows few blocks (images) are cut, so that all
/// threads have as many. For what a thread computes for itself: the number
/// depends on the threads.
inline int64_t band_count(int64_t blocks, int64_t rows) {
  const int64_t threads = available_threads();
  if (blocks == 0 || blocks >= 4 * threads) return 1;
  return std::min(rows, threads / std::gcd(blocks, threads));
}

/// Runs `body(first, last)` for partitions of [0, n), at once if n is large.
template <class Body>
void parallel_partitions(int64_t n, const Body& body) {
  const int64_t partitions = partition_count(n);
  parallel_for(partitions, [&](int64_t partition) {
    body(n * partition / partitions, n * (partition + 1) / partitions);
  });
}

}  // namespace octet
