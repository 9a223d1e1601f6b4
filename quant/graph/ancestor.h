// Paths from the inputs of a layer back to their common ancestor (P07).
#pragma once

#include <cstdint>
#include <vector>

#include "graph/graph_index.h"

namespace octet::quant {

/// The common ancestor of a node's inputs and the distances to it.
struct Paths {
  const GraphNode* ancestor = nullptr;  ///< null if there is none
  std::vector<int64_t> layers;  ///< longest distance from each input, in layers
  bool complete = true;  ///< false: branches are too long, layers are partial
};
/// Finds the latest node in the model's order from which all inputs derive.
/// Does not search beyond it, nor further than 8,000 steps.
Paths paths_to_ancestor(const GraphIndex& graph, const GraphNode& node);

}  // namespace octet::quant
