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

struct AssignedLayout {
  /// From the name of each added node to the name of the node that it was added
  /// for: the consumer, or the one that it was split from.
  std::unordered_map<std::string, std::string> added;
  /// Inputs and outputs of rank 3 whose axes 1 and 2 were exchanged.
  std::unordered_set<std::string> transposed_ports;
};

/// Reduces the number of Transposes in the graph of an exported model:
/// operators run in permuted axis orders, constants are transposed, and chains
/// of Reshape and Transpose are merged. Names and sizes of inputs and outputs,
/// except those in `open`, and graphs without Transposes are unchanged.
AssignedLayout minimize_transposes(onnx::ModelProto& model,
                                   LargeConstants& large,
                                   const std::unordered_set<std::string>& open);

namespace layout {

/// Sets the orders of the nodes to a local minimum of the number of Transposes,
/// which is never higher than that of the original orders.
void assign_orders(LayoutGraph& graph);

/// Rewrites `model` for the orders in `graph`, which refers to it.
AssignedLayout rewrite(const LayoutGraph& graph, onnx::ModelProto& model,
                       LargeConstants& large);

}  // namespace layout
}  // namespace octet::io
