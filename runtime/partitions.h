// How passes over the values of a tensor are cut for the threads.
#pragma once

#include <algorithm>
#include <cstdint>

#include <octet/runtime/parallel.h>

namespace octet {

/// Values below which a partition is not worth a thread's start.
inline constexpr int64_t kLeastPartition = 8192;

/// Number of partitions of `n` values, by n alone.
constexpr int64_t partition_count(int64_t n) {
  return std::clamp<int64_t>(n / kLeastPartition, 1, 16);
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
