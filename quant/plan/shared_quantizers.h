// Groups: points of a plan that share a quantizer.
#pragma once

#include <octet/quant/plan.h>

#include "graph/graph_index.h"

namespace octet::quant {

/// Returns the producer of the tensor at an input or output of a node.
const GraphNode& tensor_at(const GraphIndex& graph, const GraphNode& node,
                           const QdqSite& site);

/// Assigns a group to every point without one, if its layer and input exist: by
/// tensor, by layer for layers called several times, or by weight.
QdqPlan assign_shared_quantizers(QdqPlan plan, const GraphIndex& graph);

}  // namespace octet::quant
