// Names of layers. Internal to io/onnx/import.
#pragma once

#include <string>
#include <string_view>

#include "onnx/normalize/fold.h"

namespace octet::io::importing {

/// Converts the name of a node or value to a name that is valid in weight
/// files: without empty parts, "." or ".." between slashes.
std::string layer_name_of(const std::string& name);

/// Whether a person named the value. Exporters generate names such as "12",
/// "/head/Gemm_output_0" or "onnx::Gemm_17".
bool is_given_name(std::string_view value);

/// Whether the graph has Q or DQ nodes.
bool has_pairs(OnnxGraph& graph);

/// Removes "quant_" from node names of a graph with pairs: the nodes become
/// wrappers, whose names have the prefix.
void leave_out_prefixes(OnnxGraph& graph);

}  // namespace octet::io::importing
