// How far the inputs of a layer are from where their branches part.
#pragma once

#include <cstdint>
#include <vector>

#include "graph_index.h"

namespace octet::quant {

/// For each input of `merge`, the number of layers on the longest path from
/// the lowest common ancestor of all inputs (the last in the model's order);
/// from the beginning of the graph where they have none. An input that is the
/// ancestor itself has 0.
std::vector<int64_t> branch_lengths(const GraphIndex& graph,
                                    const GraphNode& merge);

}  // namespace octet::quant
