#include "graph/layer_facts.h"

#include <octet/layers/custom_layer.h>
#include <octet/quant/wrapper.h>

namespace octet::quant {

LayerRole role_of(const Layer& layer) { return float_layer(layer).role(); }

FoldedWeight folded_weight(const Layer& layer) {
  const LayerDef* def = find_layer_def(float_layer(layer).class_name());
  return def == nullptr ? FoldedWeight{} : def->folded;
}

}  // namespace octet::quant
