// Graph properties for Policy::tensorrt, independent of quantization.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "graph/chains.h"

namespace octet::quant {

/// Formats as "a", "a and b", "a, b and c" or "a, b and 3 more".
std::string name_list(const std::vector<std::string>& names);

/// Returns whether the layer is never INT8 (P17): LayerNormalization, Softmax
/// and attention.
bool is_never_int8(const GraphIndex& graph, const GraphNode& node);
/// Returns whether Q/DQ after the layer also serves its input: TensorRT moves
/// Q/DQ through it (pooling, Concatenate) or fuses it (activations, Add).
bool commutes_with_quantization(const GraphIndex& graph, const GraphNode& node);

/// Returns whether the layer combines tensors elementwise; false for x *
/// sigmoid(x).
bool is_merge(const GraphIndex& graph, const GraphNode& node);

/// Whether a node has a linear predecessor or successor, at any distance.
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
