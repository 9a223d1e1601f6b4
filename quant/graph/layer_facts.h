// What quant asks about the class of a layer, or of the one in a wrapper.
#pragma once

#include <octet/layers/layer.h>
#include <octet/layers/layer_def.h>

namespace octet::quant {

/// LayerRole::other of a class that is not registered.
LayerRole role_of(const Layer& layer);

/// Where a normalization after the layer folds.
FoldedWeight folded_weight(const Layer& layer);

}  // namespace octet::quant
