// The input layer of a graph, as Keras' InputLayer.
#pragma once

#include <memory>
#include <string>

#include <octet/layers/layer.h>

namespace octet {

/// Throws: ShapeError for a dimension < 1.
std::shared_ptr<Layer> make_input(const Shape& shape, std::string name);

/// Returns whether `layer` is an input layer.
bool is_input(const Layer& layer);

}  // namespace octet
