// Matching of the values of two models. Internal to io/comparison.
#pragma once

#include <cstddef>
#include <vector>

#include <octet/io/compare.h>

namespace octet::io {

struct ValueMatch {
  size_t a, b;
  bool is_output = false;
};

/// Returns matches in the order of a.
/// Throws: ValueError for different numbers of outputs.
std::vector<ValueMatch> match_values(const TracedModel& a,
                                     const TracedModel& b);

/// Returns for each value whether its elements may be permuted in a model of
/// another channel order: flattened images and everything that preserves their
/// order.
std::vector<bool> has_permuted_features(const TracedModel& model,
                                        const std::vector<int>& ranks);

}  // namespace octet::io
