// Conversion of a model's graph to a Config and back: layers, their
// configurations and the calls between them. Weights are not included.
#pragma once

#include <functional>

#include <octet/layers/model.h>
#include <octet/runtime/config.h>

namespace octet {

/// Maps a layer to the layer to serialize in its place: itself, or the layer
/// that it wraps. The result must have the layer's parameters.
using LayerView = std::function<const Layer&(const Layer&)>;

/// Returns the graph as objects and lists, in model order:
///
///   name, seed
///   layers   each once: name, class_name, config; `shares`: name of an earlier
///            layer that has the same parameters, if any
///   calls    layer, inputs (indices of earlier calls)
///   inputs   indices of calls
///   outputs  indices of calls
Config to_config(const Model& model, const LayerView& view = {});

/// Returns an equal model with initial weights. create_layer() creates the
/// layers.
/// Throws: ValueError, NotFoundError, ShapeError for an invalid graph;
/// UnsupportedError with the names of all unregistered classes.
Model model_from_config(const Config& config);

}  // namespace octet
