#include "graph/chains.h"

#include "graph/layer_facts.h"

namespace octet::quant {

bool is_softmax(const GraphNode& node) {
  return node.layer->activation() == "softmax";
}

bool is_sigmoid(const GraphNode& node) {
  const std::string function = node.layer->activation();
  return function == "sigmoid" || function == "hard_sigmoid";
}

bool is_elementwise(const GraphIndex& graph, const GraphNode& node) {
  const LayerRole role = graph.role(node);
  return role == LayerRole::normalization ||
         (role == LayerRole::activation && !is_softmax(node));
}

const GraphNode* silu_gate(const GraphIndex& graph, const GraphNode& node) {
  if (!GraphIndex::is(node, "Multiply") || node.inputs.size() != 2) {
    return nullptr;
  }
  const GraphNode* a = &graph.source(node.inputs[0]);
  const GraphNode* b = &graph.source(node.inputs[1]);
  const auto gates = [&](const GraphNode& gate, const GraphNode& x) {
    return graph.role(gate) == LayerRole::activation && is_sigmoid(gate) &&
           &graph.source(gate.inputs[0]) == &x;
  };
  return gates(*a, *b) ? a : gates(*b, *a) ? b : nullptr;
}

LinearChain linear_chain(const GraphIndex& graph, const GraphNode& last) {
  LinearChain chain;
  // A linear layer fuses only with normalization directly behind it.
  bool normalized = false;
  const GraphNode* node = &graph.source(last);
  int64_t own = 1;  // consumers within the chain
  while (true) {
    if (graph.uses(*node) > own) chain.used_more = node;
    if (graph.is_linear(*node) && !is_softmax(*node)) {
      if (normalized && node->layer->activation() != "linear") return {};
      chain.linear = node;
      return chain;
    }
    const bool is_norm = graph.role(*node) == LayerRole::normalization;
    if (normalized && !is_norm) return {};
    normalized = is_norm;
    own = 1;
    if (const GraphNode* gate = silu_gate(graph, *node)) {
      if (graph.uses(*gate) > 1) chain.used_more = gate;
      node = gate;
      own = 2;
    } else if (!is_elementwise(graph, *node)) {
      return {};
    }
    node = &graph.source(node->inputs[0]);
  }
}

}  // namespace octet::quant
