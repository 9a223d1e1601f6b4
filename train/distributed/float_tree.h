// In-place sums of float arrays. Internal to train.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include <octet/runtime/parallel.h>

#include "ordered_tree_sum.h"

namespace octet::train {

/// Adds `from` to `to` elementwise. Both have the same size.
inline void add_floats(std::span<float> to, std::span<const float> from) {
  parallel_chunks(std::ssize(to), [&](int64_t first, int64_t last, int64_t) {
    for (int64_t i = first; i < last; ++i) {
      to[static_cast<size_t>(i)] += from[static_cast<size_t>(i)];
    }
  });
}

/// Sums contiguous terms, each of the size of `to`, with a OrderedTreeSum.
/// Overwrites the terms. REQUIRES: at least one term, unless `to` is empty.
inline void sum_terms(std::span<float> terms, std::span<float> to) {
  if (to.empty()) return;
  OrderedTreeSum<std::span<float>> tree(
      [](std::span<float>& sum, const std::span<float>& term) {
        add_floats(sum, term);
      });
  for (; !terms.empty(); terms = terms.subspan(to.size())) {
    tree.push(terms.first(to.size()));
  }
  std::ranges::copy(tree.take().value(), to.begin());
}

}  // namespace octet::train
