// Graphs whose inputs have no batch axis. Internal to io/onnx/import.
#pragma once

#include "graph.h"

namespace octet::io::importing {

/// Removes nodes on which no output depends, and inputs that nothing consumes,
/// with a warning.
void drop_unused(OnnxGraph& graph);

/// Adds a batch axis of size 1 to inputs that are vectors of fixed size, such
/// as [5], and to the values computed from them: nodes then apply to each
/// sample. If a node adds a leading axis of size 1 itself, that axis becomes
/// the batch axis; if a node removes it, the result has an added batch axis
/// again. See OnnxGraph::has_added_batch().
/// Throws: RefusedNodes for a node that cannot be applied to each sample.
void add_batch_axis(OnnxGraph& graph);

}  // namespace octet::io::importing
