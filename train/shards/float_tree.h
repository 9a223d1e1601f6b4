// Sums of many floats, in place. Internal to train.
#pragma once

#include <cstdint>
#include <span>

#include <octet/runtime/parallel.h>

#include "fixed_tree.h"

namespace octet::train {

/// Adds `from` to `to`, which has as many elements.
inline void add_floats(std::span<float> to, std::span<const float> from) {
  parallel_chunks(std::ssize(to), [&](int64_t first, int64_t last, int64_t) {
    for (int64_t i = first; i < last; ++i) {
      to[static_cast<size_t>(i)] += from[static_cast<size_t>(i)];
    }
  });
}

/// Of runs of as many elements each, which it overwrites.
inline FixedTree<std::span<float>> float_tree() {
  return FixedTree<std::span<float>>(
      [](std::span<float>& to, const std::span<float>& from) {
        add_floats(to, from);
      });
}

}  // namespace octet::train
