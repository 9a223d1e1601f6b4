// Construction of the nodes that replace a spelling. Internal to
// io/onnx/import.
#pragma once

#include <string>
#include <vector>

#include "../graph.h"

namespace octet::io::importing {

using Integers = std::vector<int64_t>;

/// Adds a constant list. Returns its name, similar to `name`.
std::string add_integers(OnnxGraph& graph, const std::string& name,
                         const Integers& values);

/// Leaves a node unchanged unless it has the spelling.
void spell_pad(OnnxGraph& graph, OnnxNode& node);

}  // namespace octet::io::importing
