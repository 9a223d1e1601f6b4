// Properties of a layer's class, looking through wrappers.
#pragma once

#include <octet/layers/layer.h>

namespace octet::quant {

/// Returns LayerRole::other for unregistered classes.
LayerRole role_of(const Layer& layer);

/// Returns the weight into which a following normalization folds.
FoldedWeight folded_weight(const Layer& layer);

}  // namespace octet::quant
