#include "placement/tensorrt/fusions.h"

#include <algorithm>
#include <array>
#include <ranges>

#include <fmt/format.h>

namespace octet::quant {

std::string name_list(const std::vector<std::string>& names) {
  if (names.size() == 1) return names[0];
  if (names.size() == 2) return fmt::format("{} and {}", names[0], names[1]);
  if (names.size() == 3) {
    return fmt::format("{}, {} and {}", names[0], names[1], names[2]);
  }
  return fmt::format("{}, {} and {} more", names[0], names[1],
                     names.size() - 2);
}

bool is_never_int8(const GraphIndex& graph, const GraphNode& node) {
  static constexpr std::array<std::string_view, 3> kFloating = {
      "LayerNormalization", "ScaledDotProductAttention", "Softmax"};
  if (graph.role(node) == LayerRole::activation) return is_softmax(node);
  return std::ranges::any_of(kFloating, [&](std::string_view name) {
    return GraphIndex::is(node, name);
  });
}

bool commutes_with_quantization(const GraphIndex& graph,
                                const GraphNode& node) {
  const LayerRole role = graph.role(node);
  return role == LayerRole::movement || role == LayerRole::merge ||
         is_elementwise(graph, node) || GraphIndex::is(node, "Concatenate");
}

bool is_merge(const GraphIndex& graph, const GraphNode& node) {
  return graph.role(node) == LayerRole::merge &&
         silu_gate(graph, node) == nullptr;
}

LinearNeighbours::LinearNeighbours(const GraphIndex& graph) {
  const auto nodes = graph.model().nodes();
  for (const auto& node : nodes) {
    predecessors_[node.get()] =
        std::ranges::any_of(node->inputs, [&](const SymbolicTensor& x) {
          const GraphNode& source = graph.source(x);
          return graph.is_linear(source) || predecessors_.at(&source);
        });
  }
  for (const auto& node : std::views::reverse(nodes)) {
    successors_[node.get()] =
        std::ranges::any_of(graph.consumers(*node), [&](const auto& consumer) {
          return graph.is_linear(*consumer.node) ||
                 successors_.at(consumer.node);
        });
  }
}

}  // namespace octet::quant
