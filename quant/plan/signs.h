// Which activations get codes without a sign.
#pragma once

#include <octet/quant/plan.h>

#include "graph/graph_index.h"

namespace octet::quant {

/// Gives the points of less than 8 bits at tensors that cannot be negative
/// (Layer::is_non_negative) codes [0, 2^bits - 1]; signed ones would leave half
/// of them unused. All others have a sign, those of 8 bits as int8 has.
void choose_signs(QdqPlan& plan, const GraphIndex& graph);

}  // namespace octet::quant
