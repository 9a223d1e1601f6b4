// Groups: which points of a plan share one quantizer.
#pragma once

#include <octet/quant/plan.h>

#include "graph/graph_index.h"

namespace octet::quant {

/// The node that makes the tensor at an input or output of a node.
const GraphNode& tensor_at(const GraphIndex& graph, const GraphNode& node,
                           const QdqSite& site);

/// The plan with a group at every point that has none and whose layer and input
/// there are: that of its tensor, of the layer where it is called several
/// times, or of the weight.
QdqPlan grouped(QdqPlan plan, const GraphIndex& graph);

}  // namespace octet::quant
