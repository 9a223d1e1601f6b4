// Conversion of a layer with a built-in activation to two layers.
#pragma once

#include <optional>

#include <octet/layers/graph.h>
#include <octet/layers/model.h>

namespace octet::quant {

/// Returns a convolution or Dense layer without its activation, followed by an
/// Activation layer; nullopt for other layers, for ReLU, ReLU6 and linear
/// layers, and for layers that are called several times or share parameters.
std::optional<SymbolicTensor> split_activation(const GraphNode& node,
                                               Rebuild& rebuild);

}  // namespace octet::quant
