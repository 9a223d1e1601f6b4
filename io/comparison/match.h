// Which values of two models are the same. Internal to io/comparison.
#pragma once

#include <cstddef>
#include <vector>

#include <octet/io/compare.h>

namespace octet::io {

struct ValueMatch {
  size_t a, b;
  bool is_output = false;
};

/// In the order of a. Throws: ValueError for another number of outputs.
std::vector<ValueMatch> match_values(const TracedModel& a,
                                     const TracedModel& b);

/// Of each value, whether its elements may lie in another order than those of
/// a model with the channels elsewhere: what an image is flattened to, and what
/// keeps the order of such.
std::vector<bool> in_mixed_order(const TracedModel& model,
                                 const std::vector<int>& ranks);

}  // namespace octet::io
