// Layout assignment: chooses the axis order of each value so that the graph has
// few Transposes. Internal to io/onnx.
#pragma once

#include <string>
#include <unordered_map>

#include <onnx/onnx_pb.h>

#include "onnx/deferred_initializers.h"
#include "onnx/layout/graph.h"

namespace octet::io {

/// Rewrites the graph of an exported model with at most as many Transposes as
/// it has: operators work in a permuted axis order, constants are transposed,
/// and chains of Reshape and Transpose are merged. Names of inputs and outputs,
/// and graphs without Transposes, stay as they are.
/// Returns by the name of each added node the node that consumes its output.
std::unordered_map<std::string, std::string> minimize_transposes(
    onnx::ModelProto& model, LargeConstants& large);

namespace layout {

/// Sets the orders of the nodes to a local minimum of the number of Transposes.
/// Starts with the original orders, so that their number is an upper bound.
void assign_orders(Graph& graph);

/// Rewrites `model`, whose graph is `graph`.
std::unordered_map<std::string, std::string> rewrite(const Graph& graph,
                                                     onnx::ModelProto& model,
                                                     LargeConstants& large);

}  // namespace layout
}  // namespace octet::io
