// What Policy::tensorrt reads off a graph, whatever is quantized in it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "graph/chains.h"

namespace octet::quant {

/// "a", "a and b", "a, b and c", "a, b and 3 more".
std::string name_list(const std::vector<std::string>& names);

/// LayerNormalization, Softmax and attention, which are never INT8 (P17).
bool stays_float(const GraphIndex& graph, const GraphNode& node);
/// Whether Q/DQ after a layer serves what is in front of it too: TensorRT moves
/// it through (pooling, Concatenate) or fuses the layer (activations, Add).
bool lets_through(const GraphIndex& graph, const GraphNode& node);

/// Joins tensors element by element, which x * sigmoid(x) does not.
bool is_merge(const GraphIndex& graph, const GraphNode& node);

/// Whether a linear layer is among the predecessors or successors of a node, at
/// any distance.
class LinearNeighbours {
 public:
  explicit LinearNeighbours(const GraphIndex& graph);
  bool in_predecessors(const GraphNode& node) const {
    return predecessors_.at(&node);
  }
  bool in_successors(const GraphNode& node) const {
    return successors_.at(&node);
  }

 private:
  std::map<const GraphNode*, bool> predecessors_;
  std::map<const GraphNode*, bool> successors_;
};

}  // namespace octet::quant
