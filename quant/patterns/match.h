// Pattern matching.
#pragma once

#include <vector>

#include <octet/quant/patterns.h>

#include "graph/graph_index.h"

namespace octet::quant {

struct Matching {
  std::vector<PatternMatch> matches;  ///< by first layer
  /// Conditions that threw, points that a layer lacks, and layers with weights
  /// that no pattern matches.
  std::vector<TransformReport::Skipped> skipped;
};

/// Matches patterns in order, each in the model's order.
/// REQUIRES: check(patterns).
Matching match_patterns(const GraphIndex& graph,
                        const std::vector<Pattern>& patterns);

}  // namespace octet::quant
