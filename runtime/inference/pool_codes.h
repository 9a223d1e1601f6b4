// Max pooling of codes in place of numbers.
#pragma once

#include "graph.h"

namespace octet::inference {

/// Where nothing but codes of the largest values are read, those of codes are
/// taken: rounding keeps the order.
void pool_codes(Graph& graph);

}  // namespace octet::inference
