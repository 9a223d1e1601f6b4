// Names of layers. Internal to io/onnx/import.
#pragma once

#include <string>
#include <string_view>

#include "graph.h"

namespace octet::io::importing {

/// For a node or value of that name: one that files of weights can have, with
/// no empty part, "." or ".." between slashes.
std::string layer_name_of(const std::string& name);

/// Whether somebody gave a value that name. What exporters call others is "12",
/// "/head/Gemm_output_0" or "onnx::Gemm_17".
bool is_given_name(std::string_view value);

/// Whether nodes quantize or dequantize.
bool has_pairs(ImportGraph& graph);

/// Takes "quant_" from the names of nodes in a graph that had pairs: they
/// become wrappers, whose names have it by themselves.
void leave_out_prefixes(ImportGraph& graph);

}  // namespace octet::io::importing
