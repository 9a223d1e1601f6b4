// If and Loop with constant conditions and trip counts. Internal to io/onnx.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "onnx/graph/graph.h"

namespace octet::io::importing {

/// Replaces an If with a constant condition by the nodes of its branch, and a
/// Loop with a constant trip count by the nodes of all iterations. The new
/// nodes follow `node`. Returns "", or the reason why this is not possible.
/// REQUIRES: the node is an If or Loop.
std::string inline_subgraph(OnnxGraph& graph, OnnxNode& node);

/// Largest number of nodes of all iterations of a Loop.
inline constexpr int64_t kMostUnrolled = 10'000;

/// Whether the body of a Loop returns its condition unchanged, or true.
/// `is_true` tells whether a value of the outer graph is a constant true.
bool keeps_condition(const onnx::GraphProto& body,
                     const std::function<bool(const std::string&)>& is_true);

bool has_subgraph_to_inline(const OnnxNode& node);

}  // namespace octet::io::importing
