// Layout assignment: chooses the axis order of each value so that the graph has
// few Transposes. Internal to io/onnx.
#pragma once

#include <string>
#include <unordered_map>

#include <onnx/onnx_pb.h>

#include "onnx/export/deferred_initializers.h"
#include "onnx/layout/graph.h"

namespace octet::io {

/// Reduces the number of Transposes in the graph of an exported model:
/// operators run in permuted axis orders, constants are transposed, and chains
/// of Reshape and Transpose are merged. Names of inputs and outputs, and graphs
/// without Transposes, are unchanged. Returns a map from the name of each added
/// node to the name of the node that it was added for: the consumer, or a
/// product whose bias it adds.
std::unordered_map<std::string, std::string> minimize_transposes(
    onnx::ModelProto& model, LargeConstants& large);

namespace layout {

/// Sets the orders of the nodes to a local minimum of the number of Transposes.
/// Starts with the original orders, so that the number never increases.
void assign_orders(Graph& graph);

/// Rewrites `model` for the orders in `graph`, which refers to it. Returns the
/// same map as minimize_transposes().
std::unordered_map<std::string, std::string> rewrite(const Graph& graph,
                                                     onnx::ModelProto& model,
                                                     LargeConstants& large);

}  // namespace layout
}  // namespace octet::io
