// Passes that rewrite a graph to the forms that the converters and pattern
// matchers expect. Each leaves an equivalent graph. Internal to io/onnx.
#pragma once

#include <span>
#include <string>

#include "onnx/graph/graph.h"

namespace octet::io::importing {

/// Returns the passes in the order in which they run.
std::span<const GraphPass> normalization_passes();

/// Runs all passes. Throws: FormatError, UnsupportedError, with the pass as
/// context.
void normalize_graph(OnnxGraph& graph);

/// Normalizes a node of a subgraph that has become part of the graph.
void normalize_node(OnnxGraph& graph, OnnxNode& node);

/// Converts the types float16, bfloat16 and float64 in a node's attributes to
/// float32.
void use_float32(OnnxGraph& graph, OnnxNode& node);

/// Replaces an operator without an equivalent layer by the operators of its
/// formula (formulas.h), unless the formula depends on unknown shapes.
void expand_formula(OnnxGraph& graph, OnnxNode& node);

/// Converts equivalent spellings of an operator, such as the attributes of
/// older opsets, to a common form. The node remains the last of its
/// replacements.
void use_common_spelling(OnnxGraph& graph, OnnxNode& node);

/// Replaces Clip of quantized values by a Clip before the QuantizeLinear.
void move_clips_before_quantizers(OnnxGraph& graph);

/// Replaces QLinearConv, QLinearMatMul, QGemm and the other QLinear operators
/// by Q/DQ pairs around float operators, and adds pairs around operators
/// between them that only move or select quantized values. Quantized results
/// are the same except for ties, which float rounding may break differently.
/// Leaves operators unchanged that pairs cannot express.
void expand_qoperators(OnnxGraph& graph);

/// Removes each Identity whose output is not an output of the graph.
void remove_identities(OnnxGraph& graph);

/// Removes nodes whose outputs have no consumers.
void remove_unused(OnnxGraph& graph);

}  // namespace octet::io::importing
