// The weights of a model, for comparisons.
#pragma once

#include <vector>

#include <octet/layers/model.h>

namespace octet::train {

/// Returns all parameters, including statistics, concatenated.
inline std::vector<float> weights_of(const Model& model) {
  std::vector<float> all;
  for (const auto& layer : model.layers()) {
    for (const Parameter& parameter : layer->parameters()) {
      const auto values = parameter.variable.value().f32();
      all.insert(all.end(), values.begin(), values.end());
    }
  }
  return all;
}

}  // namespace octet::train
