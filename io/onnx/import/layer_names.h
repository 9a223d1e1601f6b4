// Names of layers. Internal to io/onnx/import.
#pragma once

#include <string>

#include "graph.h"

namespace octet::io::importing {

/// For a node or value of that name: one that files of weights can have, with
/// no empty part, "." or ".." between slashes.
std::string layer_name_of(const std::string& name);

/// Names nodes as their layers are to be called, where that is not what the
/// file calls them: without "quant_" in a file with Q/DQ pairs, and by the
/// outputs that they make, of several that somebody named.
void name_layers(ImportGraph& graph);

}  // namespace octet::io::importing
