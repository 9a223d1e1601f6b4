// Layout assignment: chooses the axis order of each value so that the graph has
// few Transposes. Internal to io/onnx.
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>

#include <onnx/onnx_pb.h>

#include "onnx/export/deferred_initializers.h"
#include "onnx/layout/graph.h"

namespace octet::io {

/// From the name of each added node to the name of the node that it was added
/// for: the consumer, or the one that it was split from.
using AddedNodes = std::unordered_map<std::string, std::string>;

struct AssignedLayout {
  AddedNodes added;
  /// Inputs and outputs of rank 3 that hold sequences of operators with the
  /// channels as axis 1.
  std::unordered_set<std::string> sequences;
};

/// Reduces the number of Transposes in the graph of an exported model:
/// operators run in permuted axis orders, constants are transposed, and chains
/// of Reshape and Transpose are merged. Axes 1 and 2 of the inputs and outputs
/// in `open` that are `sequences` are exchanged. Names and sizes of other
/// inputs and outputs, and graphs without Transposes, are unchanged.
AssignedLayout minimize_transposes(onnx::ModelProto& model,
                                   LargeConstants& large,
                                   const std::unordered_set<std::string>& open);

namespace layout {

/// Sets the orders of the nodes to a local minimum of the number of Transposes,
/// which is never higher than that of the original orders.
void assign_orders(LayoutGraph& graph);

/// Marks the nodes that run on sequences of operators with the channels as axis
/// 1. Returns the inputs and outputs of rank 3 that such operators consume or
/// produce, directly or through nodes that run in either order. The result is
/// the same for a model with folded batch normalization or with Q/DQ.
std::unordered_set<std::string> mark_sequences(LayoutGraph& graph);

/// Rewrites `model` for the orders in `graph`, which refers to it.
AddedNodes rewrite(const LayoutGraph& graph, onnx::ModelProto& model,
                   LargeConstants& large);

}  // namespace layout
}  // namespace octet::io
