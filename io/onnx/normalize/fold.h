// Constant folding. Internal to io/onnx.
#pragma once

#include <string_view>

#include "onnx/graph/graph.h"

namespace octet::io::importing {

using Constant = OnnxConstant;
using io::text_of;

/// Folds nodes that depend on constants only, except Q/DQ pairs, and replaces
/// If and Loop nodes by the nodes of a subgraph (see subgraphs.h).
/// Throws: FormatError for inconsistent shapes or exceeded limits.
void fold_constants(OnnxGraph& graph);
/// Folds a single node whose inputs are constants, possibly sizes of the batch.
/// Returns false if it cannot be folded.
bool fold(OnnxGraph& graph, OnnxNode& node);

/// Whether a list of operators, separated by spaces, contains `op`.
bool is_one_of(std::string_view op, std::string_view operators);
/// Whether all inputs of a node are constants or absent.
bool has_constant_inputs(const OnnxGraph& graph, const onnx::NodeProto& node);
/// Computes the first output of a node with constant inputs. Throws:
/// FormatError.
Tensor computed(OnnxGraph& graph, const onnx::NodeProto& node);

}  // namespace octet::io::importing
