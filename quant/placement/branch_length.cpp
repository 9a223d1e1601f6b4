#include "branch_length.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace octet::quant {
namespace {

using Nodes = std::unordered_set<const GraphNode*>;

// The node and all that it is computed from.
Nodes ancestors(const GraphIndex& graph, const GraphNode& node) {
  Nodes seen{&node};
  std::vector<const GraphNode*> stack{&node};
  while (!stack.empty()) {
    const GraphNode& next = *stack.back();
    stack.pop_back();
    for (const SymbolicTensor& input : next.inputs) {
      const GraphNode* source = &graph.source(input);
      if (seen.insert(source).second) stack.push_back(source);
    }
  }
  return seen;
}

}  // namespace

std::vector<int64_t> branch_lengths(const GraphIndex& graph,
                                    const GraphNode& merge) {
  std::vector<Nodes> above;
  for (const SymbolicTensor& input : merge.inputs) {
    above.push_back(ancestors(graph, graph.source(input)));
  }
  const auto nodes = graph.model().nodes();
  const GraphNode* start = nullptr;
  for (const auto& node : nodes) {
    const bool common = std::ranges::all_of(
        above, [&](const Nodes& own) { return own.contains(node.get()); });
    if (common) start = node.get();
  }
  std::unordered_map<const GraphNode*, int64_t> length;
  for (const auto& node : nodes) {
    if (start != nullptr ? node.get() == start : node->inputs.empty()) {
      length[node.get()] = 0;
    }
    for (const SymbolicTensor& input : node->inputs) {
      const auto before = length.find(&graph.source(input));
      if (before == length.end()) continue;
      const int64_t through = before->second + 1;
      int64_t& longest = length[node.get()];
      longest = std::max(longest, through);
    }
  }
  std::vector<int64_t> result;
  for (const SymbolicTensor& input : merge.inputs) {
    result.push_back(length.at(&graph.source(input)));
  }
  return result;
}

}  // namespace octet::quant
