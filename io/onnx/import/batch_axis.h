// Graphs whose inputs have no batch axis. Internal to io/onnx/import.
#pragma once

#include "graph.h"

namespace octet::io::importing {

/// Removes inputs without consumers, with a warning.
void drop_unused_inputs(OnnxGraph& graph);

/// Adds a batch axis of size 1 to inputs that are vectors of fixed size, such
/// as [5], and to the values computed from them: nodes then apply to each
/// sample. A leading axis of size 1 that a node of the file adds becomes the
/// batch axis; a node that removes this axis has an output with an added batch
/// axis. See OnnxGraph::has_added_batch().
/// Throws: RefusedNodes for a node that cannot be applied to each sample.
void add_batch_axis(OnnxGraph& graph);

}  // namespace octet::io::importing
