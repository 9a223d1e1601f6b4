// Parameters other than their initial values.
#pragma once

#include <octet/layers/model.h>
#include <octet/runtime/rng.h>

namespace octet {

/// Changes biases, scales and statistics, whose initial values 0 and 1 would
/// hide errors.
inline void disturb(const Model& model) {
  for (const auto& layer : model.layers()) {
    for (const Parameter& p : layer->parameters()) {
      if (p.variable.shape().rank() != 1) continue;
      Tensor change(p.variable.shape());
      Rng rng = Rng(1).child(layer->name() + "/" + p.name);
      rng.fill_uniform(change, -0.2f, 0.2f);
      const auto value = p.variable.mutable_value();
      for (size_t i = 0; i < value.size(); ++i) value[i] += change.f32()[i];
    }
  }
}

}  // namespace octet
