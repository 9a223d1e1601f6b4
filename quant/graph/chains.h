// Chains of a linear layer, normalizations and activations, which TensorRT runs
// as a single kernel.
#pragma once

#include "graph/graph_index.h"

namespace octet::quant {

/// Whether the activation, separate or built in, is a softmax, which is not
/// elementwise.
bool is_softmax(const GraphNode& node);
/// Whether the activation, separate or built in, is a (hard) sigmoid.
bool is_sigmoid(const GraphNode& node);

/// Whether the node is elementwise in inference; includes normalization.
bool is_elementwise(const GraphIndex& graph, const GraphNode& node);

/// Returns the sigmoid of SiLU, x * sigmoid(x); null for other layers.
const GraphNode* silu_gate(const GraphIndex& graph, const GraphNode& node);

/// A linear layer followed by normalizations, then activations of any class,
/// including x * sigmoid(x).
struct LinearChain {
  const GraphNode* linear = nullptr;  ///< null if there is no chain
  const GraphNode* used_more =
      nullptr;  ///< chain node with other consumers (P08)

  bool fuses() const { return linear != nullptr && used_more == nullptr; }
};

/// Returns the chain that ends with a node: the linear layer that fuses with
/// that normalization or activation.
LinearChain linear_chain(const GraphIndex& graph, const GraphNode& last);

}  // namespace octet::quant
