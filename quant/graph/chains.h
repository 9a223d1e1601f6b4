// Chains of a linear layer, normalizations and activations, which TensorRT
// computes in one kernel.
#pragma once

#include "graph/graph_index.h"

namespace octet::quant {

/// The activation or the layer's built-in one is a softmax, which is no
/// element-wise function.
bool is_softmax(const GraphNode& node);
/// The activation or the layer's built-in one is a (hard) sigmoid.
bool is_sigmoid(const GraphNode& node);

/// An element-wise function, or a normalization that is one in inference.
bool is_elementwise(const GraphIndex& graph, const GraphNode& node);

/// SiLU as x * sigmoid(x): the activation, of x; null of other layers.
const GraphNode* silu_gate(const GraphIndex& graph, const GraphNode& node);

/// A tensor as a linear layer makes it, through normalizations and then
/// activations of any class, x * sigmoid(x) among them.
struct LinearChain {
  const GraphNode* linear = nullptr;     ///< null: it comes from elsewhere
  const GraphNode* used_more = nullptr;  ///< of these, read elsewhere too (P08)

  bool fuses() const { return linear != nullptr && used_more == nullptr; }
};

/// The chain that ends with a node: the linear layer that a normalization
/// fuses with, or an activation.
LinearChain linear_chain(const GraphIndex& graph, const GraphNode& last);

}  // namespace octet::quant
