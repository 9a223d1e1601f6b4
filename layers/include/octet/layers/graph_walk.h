// Predecessors and successors of layers, by name, for code that decides by a
// layer's neighbors, such as insertion cases.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <octet/layers/model.h>

namespace octet {

/// Returns the names of all layers, in the order of their first call.
std::vector<std::string> layer_names(const Model& model);

/// Returns the producers of a layer's inputs without duplicates, in the order
/// of its inputs and calls.
/// Throws: NotFoundError with the nearest names.
std::vector<std::string> predecessors(const Model& model,
                                      std::string_view layer);

/// Returns the consumers of a layer's output without duplicates, in model
/// order.
/// Throws: as predecessors().
std::vector<std::string> successors(const Model& model, std::string_view layer);

}  // namespace octet
