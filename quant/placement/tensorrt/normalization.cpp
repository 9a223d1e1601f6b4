// BatchNormalization (P02, P03).
#include <fmt/format.h>

#include "placement/tensorrt/rules.h"

namespace octet::quant {

Decision decide_normalization(const PlacementState& state,
                              const GraphNode& node) {
  const GraphIndex& graph = state.graph();
  if (const GraphNode* linear = state.fusions().chain(node).linear) {
    return skipped("P02",
                   fmt::format("fuses with {}", graph.tensor_name(*linear)));
  }
  const GraphNode* consumer = state.successors(node).unmerged;
  if (consumer == nullptr) {
    return skipped("P03", "no successor is quantized");
  }
  return quantized_input(
      0, "P03",
      fmt::format("{} is no linear layer to fuse with; {} reads it",
                  graph.tensor_name(graph.source(node.inputs[0])),
                  graph.tensor_name(*consumer)));
}

}  // namespace octet::quant
