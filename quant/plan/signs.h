// Which activations get codes without a sign.
#pragma once

#include <octet/quant/plan.h>

#include "graph/graph_index.h"

namespace octet::quant {

/// Gives the points of less than 8 bits, and those of 8 that are to have no
/// sign, codes [0, 2^bits - 1] at tensors that cannot be negative
/// (Layer::is_non_negative): signed ones would leave half of them unused. All
/// others have a sign.
void choose_signs(QdqPlan& plan, const GraphIndex& graph);

}  // namespace octet::quant
