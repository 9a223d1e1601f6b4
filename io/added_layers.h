// Layers that functions of octet/layers/ops.h add to a graph. Internal to io.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include <octet/layers/graph.h>

namespace octet::io {

/// Returns the nodes between `inputs` and `outputs` in creation order.
/// REQUIRES: all were created after `inputs`.
std::vector<const GraphNode*> added_nodes(
    std::span<const SymbolicTensor> inputs,
    std::span<const SymbolicTensor> outputs);

/// Names the layers between `inputs` and `y`: the last `name`, others
/// `name/<class>`, as made unique by `unique`.
/// REQUIRES: no model contains the layers.
void name_added_layers(
    std::span<const SymbolicTensor> inputs, const SymbolicTensor& y,
    const std::string& name,
    const std::function<std::string(const std::string&)>& unique);

}  // namespace octet::io
