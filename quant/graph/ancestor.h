// The way from the inputs of a layer back to what they have in common (P07).
#pragma once

#include <cstdint>
#include <vector>

#include "graph/graph_index.h"

namespace octet::quant {

/// Where the inputs of a node come together, going back.
struct Paths {
  const GraphNode* ancestor = nullptr;  ///< null: nowhere
  std::vector<int64_t> layers;  ///< on the longest way there from each input
  bool complete = true;  ///< false: branches are too long, layers are partial
};
/// The ancestor is the latest node in the model's order that all inputs come
/// from. Walks no further back than that, and at most 8,000 steps.
Paths paths_to_ancestor(const GraphIndex& graph, const GraphNode& node);

}  // namespace octet::quant
