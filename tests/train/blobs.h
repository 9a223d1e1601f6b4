// Two linearly separable clusters of points, and a model for them.
#pragma once

#include <cstdint>

#include <octet/layers/layers.h>
#include <octet/runtime/dataset.h>
#include <octet/runtime/rng.h>

namespace octet::train {

/// Shapes: inputs [n,2] around (2,2) and (-2,-2), labels [n] in {0,1}.
inline Dataset blobs(int64_t n, uint64_t seed = 1) {
  Tensor inputs(Shape{n, 2});
  Tensor labels(Shape{n}, DType::i64);
  Rng rng(seed);
  for (int64_t i = 0; i < n; ++i) {
    const auto row = static_cast<size_t>(i);
    const int64_t label = i % 2;
    const float centre = label == 0 ? 2.0f : -2.0f;
    inputs.f32()[2 * row] = centre + 0.5f * rng.normal();
    inputs.f32()[2 * row + 1] = centre + 0.5f * rng.normal();
    labels.data<int64_t>()[row] = label;
  }
  return Dataset(inputs, labels);
}

/// Dense(8), ReLU, Dense(2), named "hidden", "relu", "logits".
inline Model small_network(uint64_t seed = 0) {
  const SymbolicTensor x = input({2});
  SymbolicTensor y = Dense({.units = 8, .name = "hidden"})(x);
  y = ReLU({.name = "relu"})(y);
  y = Dense({.units = 2, .name = "logits"})(y);
  return Model(x, y, {.seed = seed});
}

}  // namespace octet::train
