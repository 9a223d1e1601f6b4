// A model's graph as a Config, and back: its layers with their configurations
// and the calls between them. Weights are no part of it.
#pragma once

#include <functional>

#include <octet/layers/model.h>
#include <octet/runtime/config.h>

namespace octet {

/// What stands for a layer: itself, or one that it is a wrapper of. It must
/// have the layer's parameters.
using LayerView = std::function<const Layer&(const Layer&)>;

/// Objects and lists only, in the order of the model:
///
///   name, seed
///   layers   each once: name, class_name, config and, where its parameters
///            are those of an earlier layer, the name of that one: shares
///   calls    layer, inputs (indices of earlier calls)
///   inputs   indices of calls
///   outputs  indices of calls
Config to_config(const Model& model, const LayerView& view = {});

/// An equal model with initial weights. Layers are made by create_layer().
/// Throws: ValueError, NotFoundError, ShapeError for a graph that cannot be;
/// UnsupportedError, naming them all, for classes that are not registered.
Model model_from_config(const Config& config);

}  // namespace octet
