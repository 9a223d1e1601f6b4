// How passes over the values of a tensor are cut for the threads.
#pragma once

#include <algorithm>
#include <cstdint>

#include <octet/runtime/parallel.h>

namespace octet {

/// Values below which a piece is not worth a thread's start.
inline constexpr int64_t kLeastPiece = 8192;

/// Number of pieces of `n` values, by n alone.
constexpr int64_t piece_count(int64_t n) {
  return std::clamp<int64_t>(n / kLeastPiece, 1, 16);
}

/// Runs `body(first, last)` for pieces of [0, n), at once if n is large.
template <class Body>
void parallel_pieces(int64_t n, const Body& body) {
  const int64_t pieces = piece_count(n);
  parallel_for(pieces, [&](int64_t piece) {
    body(n * piece / pieces, n * (piece + 1) / pieces);
  });
}

}  // namespace octet
