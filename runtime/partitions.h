// Partitioning of elementwise loops for threads.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>

#include <octet/runtime/parallel.h>

namespace octet {

/// Fewest values for which a partition pays for starting a thread.
inline constexpr int64_t kLeastPartition = 8192;

/// Number of partitions of `n` values, by n alone.
constexpr int64_t partition_count(int64_t n) {
  return std::clamp<int64_t>(n / kLeastPartition, 1, 16);
}

/// Number of bands of `rows` rows into which few blocks (images) are split to
/// balance all threads. Depends on the number of threads: only for results that
/// do not depend on the split.
inline int64_t band_count(int64_t blocks, int64_t rows) {
  const int64_t threads = available_threads();
  if (blocks == 0 || blocks >= 4 * threads) return 1;
  return std::min(rows, threads / std::gcd(blocks, threads));
}

/// Runs `body(first, last)` for partitions of [0, n), in parallel if n is
/// large.
template <class Body>
void parallel_partitions(int64_t n, const Body& body) {
  const int64_t partitions = partition_count(n);
  parallel_for(partitions, [&](int64_t partition) {
    body(n * partition / partitions, n * (partition + 1) / partitions);
  });
}

}  // namespace octet
