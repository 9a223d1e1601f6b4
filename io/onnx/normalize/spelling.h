// Construction of the nodes that replace a spelling. Internal to io/onnx.
#pragma once

#include <string>
#include <vector>

#include "onnx/graph/graph.h"

namespace octet::io::importing {

using Integers = std::vector<int64_t>;

/// Adds a constant list. Returns its name, similar to `name`.
std::string add_integers(OnnxGraph& graph, const std::string& name,
                         const Integers& values);

/// Returns a node of the standard domain without attributes.
onnx::NodeProto node_of(const char* op, std::vector<std::string> inputs,
                        std::string output);

/// Returns the rank of a value, if known.
std::optional<int64_t> rank_of(const OnnxGraph& graph,
                               const std::string& value);

}  // namespace octet::io::importing
