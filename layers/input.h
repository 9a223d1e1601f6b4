// The start of a graph, as a layer: Keras' InputLayer.
#pragma once

#include <memory>
#include <string>

#include <octet/layers/layer.h>

namespace octet {

/// Throws: ShapeError for a dimension < 1.
std::shared_ptr<Layer> make_input(const Shape& shape, std::string name);

/// Whether `layer` starts a graph.
bool is_input(const Layer& layer);

}  // namespace octet
