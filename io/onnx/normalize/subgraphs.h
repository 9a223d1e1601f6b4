// If and Loop with constant conditions and trip counts. Internal to io/onnx.
#pragma once

#include <string>

#include "onnx/graph/graph.h"

namespace octet::io::importing {

/// Replaces an If with a constant condition by the nodes of its branch, and a
/// Loop with a constant trip count by the nodes of all iterations. The new
/// nodes follow `node`. Returns "", or the reason why this is not possible.
/// REQUIRES: the node is an If or Loop.
std::string inline_subgraph(OnnxGraph& graph, OnnxNode& node);

/// Replaces an If by the nodes of both branches and a selection of their
/// outputs. Returns "", or the reason why this is not possible.
std::string select_branch(OnnxGraph& graph, OnnxNode& node);

bool has_subgraph_to_inline(const OnnxNode& node);

}  // namespace octet::io::importing
