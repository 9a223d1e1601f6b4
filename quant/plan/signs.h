// Signedness of quantized activations.
#pragma once

#include <octet/quant/plan.h>

#include "graph/graph_index.h"

namespace octet::quant {

/// Makes points below 8 bits, and 8-bit points requested as unsigned, unsigned
/// for tensors that cannot be negative (LayerFacts::sign): [0, 2^bits -
/// 1] uses the range fully. Makes all other points signed.
void choose_signedness(QdqPlan& plan, const GraphIndex& graph);

}  // namespace octet::quant
