#include "graph/ancestor.h"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <map>

namespace octet::quant {

Paths paths_to_ancestor(const GraphIndex& graph, const GraphNode& node) {
  struct Reached {
    const GraphNode* node = nullptr;
    std::vector<int64_t> layers;  // distance from each input; -1: unreachable
  };
  const size_t inputs = node.inputs.size();
  Paths paths{.layers = std::vector<int64_t>(inputs, 0)};
  // Bounds the time for all merges of a large graph. A merge of two branches
  // has thousands of layers of each.
  constexpr size_t kMostSteps = 8000;
  size_t steps = 0;
  // Latest first. Nodes are created after their inputs, so all paths to a node
  // are known when it is visited.
  std::map<uint64_t, Reached, std::greater<>> frontier;
  const auto reach = [&](const GraphNode& to) -> std::vector<int64_t>& {
    Reached& reached = frontier[to.id];
    if (reached.node == nullptr) {
      reached = {&to, std::vector<int64_t>(inputs, -1)};
    }
    return reached.layers;
  };
  for (size_t i = 0; i < inputs; ++i) {
    reach(graph.source(node.inputs[i]))[i] = 0;
  }
  while (!frontier.empty()) {
    const Reached at = frontier.extract(frontier.begin()).mapped();
    if (std::ranges::find(at.layers, -1) == at.layers.end()) {
      return {at.node, at.layers};
    }
    for (size_t i = 0; i < inputs; ++i) {
      paths.layers[i] = std::max(paths.layers[i], at.layers[i]);
    }
    steps += inputs * at.node->inputs.size();
    if (steps > kMostSteps) {
      paths.complete = false;
      break;
    }
    for (const SymbolicTensor& x : at.node->inputs) {
      std::vector<int64_t>& layers = reach(graph.source(x));
      for (size_t i = 0; i < inputs; ++i) {
        if (at.layers[i] >= 0) {
          layers[i] = std::max(layers[i], at.layers[i] + 1);
        }
      }
    }
  }
  return paths;
}

}  // namespace octet::quant
