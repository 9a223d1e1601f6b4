// Who feeds a layer and who reads it, by name: for code that decides by a
// layer's neighbours, such as insertion cases.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include <octet/layers/model.h>

namespace octet {

/// The names of all layers, in the order of their first call.
std::vector<std::string> layer_names(const Model& model);

/// The layers whose outputs a layer reads, in the order of its inputs and
/// calls, each once. Throws: NotFoundError naming the nearest names.
std::vector<std::string> predecessors(const Model& model,
                                      std::string_view layer);

/// The layers that read a layer's output, in the model's order, each once.
/// Throws: as predecessors().
std::vector<std::string> successors(const Model& model, std::string_view layer);

}  // namespace octet
