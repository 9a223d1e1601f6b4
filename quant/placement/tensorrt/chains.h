// What Policy::tensorrt reads off a graph, whatever is quantized in it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "../graph_index.h"

namespace octet::quant {

/// "a", "a and b", "a, b and c", "a, b and 3 more".
std::string name_list(const std::vector<std::string>& names);

/// The function of an Activation, or the option `activation` of a layer;
/// "linear" if there is none.
std::string activation_of(const GraphNode& node);

/// LayerNormalization, Softmax and attention, which are never INT8 (P17).
bool stays_float(const GraphIndex& graph, const GraphNode& node);
/// Whether Q/DQ behind a layer serves what is before it too: TensorRT moves
/// it through (pooling, Concatenate) or fuses the layer (activations, Add).
bool lets_through(const GraphIndex& graph, const GraphNode& node);

/// Joins tensors element by element, which x * sigmoid(x) does not.
bool is_merge(const GraphIndex& graph, const GraphNode& node);
/// Where the function of a layer ends in a (hard) sigmoid.
bool is_sigmoid(const GraphNode& node);
/// SiLU as x * sigmoid(x): the activation, of x; null of other layers.
const GraphNode* silu_gate(const GraphIndex& graph, const GraphNode& node);

/// Whether a linear layer stands before or behind, at any distance.
class LinearNeighbours {
 public:
  explicit LinearNeighbours(const GraphIndex& graph);
  bool before(const GraphNode& node) const { return before_.at(&node); }
  bool behind(const GraphNode& node) const { return behind_.at(&node); }

 private:
  std::map<const GraphNode*, bool> before_;
  std::map<const GraphNode*, bool> behind_;
};

/// The linear layer that absorbs a normalization which reads `x`, or null.
const GraphNode* absorbing(const GraphIndex& graph, const SymbolicTensor& x);

/// A tensor as a linear layer makes it, through normalizations and then
/// activations of any class, x * sigmoid(x) among them.
struct ConvBranch {
  const GraphNode* linear = nullptr;     ///< null: it comes from elsewhere
  const GraphNode* used_more = nullptr;  ///< of these, read elsewhere too (P08)

  bool fuses() const { return linear != nullptr && used_more == nullptr; }
};
ConvBranch conv_branch(const GraphIndex& graph, const SymbolicTensor& x);

}  // namespace octet::quant
