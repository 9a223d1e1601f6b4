// BatchNormalization (P02, P03).
#include <fmt/format.h>

#include "chains.h"
#include "rules.h"

namespace octet::quant {

Decision decide_normalization(const Draft& draft, const GraphNode& node) {
  const GraphIndex& graph = draft.graph();
  const SymbolicTensor& x = node.inputs[0];
  if (const GraphNode* before = absorbing(graph, x)) {
    return left_alone("P02",
                      fmt::format("fuses with {}", graph.tensor_name(*before)));
  }
  const GraphNode* reader = draft.ahead(node).unmerged;
  if (reader == nullptr) {
    return left_alone("P03", "nothing behind it is quantized");
  }
  return quantized_input(
      0, "P03",
      fmt::format("{} is no linear layer that absorbs it; {} reads it",
                  graph.tensor_name(graph.source(x)),
                  graph.tensor_name(*reader)));
}

}  // namespace octet::quant
