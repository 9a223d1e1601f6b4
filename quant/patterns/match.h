// Finding the layers that patterns describe.
#pragma once

#include <vector>

#include <octet/quant/transform.h>

#include "graph/graph_index.h"

namespace octet::quant {

struct Matching {
  std::vector<PatternMatch> matches;  ///< in the order of their first layers
  /// Conditions that threw, points that a layer does not have, and layers with
  /// weights that no pattern takes.
  std::vector<TransformReport::Skipped> skipped;
};

/// Patterns in their order, each along the model's. REQUIRES: check(patterns).
Matching match_patterns(const GraphIndex& graph,
                        const std::vector<Pattern>& patterns);

}  // namespace octet::quant
