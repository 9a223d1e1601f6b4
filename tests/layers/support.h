// Helpers shared by the tests of layers and quantization.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <octet/layers/layers.h>

#include "../support.h"

namespace octet {

/// Returns the bits of all weights, layer by layer.
inline std::vector<uint32_t> weight_bits(const Model& model) {
  std::vector<uint32_t> result;
  for (const auto& layer : model.layers()) {
    for (const Parameter& parameter : layer->parameters()) {
      const auto more = bits(parameter.variable);
      result.insert(result.end(), more.begin(), more.end());
    }
  }
  return result;
}

inline Tensor tensor(const Shape& shape, const std::vector<float>& numbers) {
  return Tensor::of<float>(shape, std::span<const float>(numbers));
}

/// Returns small integers of both signs, whose sums of products are exact in
/// f32.
inline Tensor integers(const Shape& shape, int step = 7) {
  Tensor result(shape);
  const auto to = result.f32();
  for (size_t i = 0; i < to.size(); ++i) {
    to[i] = static_cast<float>(static_cast<int>(i) * step % 13 - 6);
  }
  return result;
}

/// Fills trainable parameters with noise and statistics with plausible values.
inline void shake(const Model& model, uint64_t seed = 5) {
  for (const auto& layer : model.layers()) {
    for (const Parameter& parameter : layer->parameters()) {
      Rng rng = Rng(seed).child(layer->name() + "/" + parameter.name);
      const bool variance = parameter.name == "moving_variance";
      const auto values = parameter.variable.mutable_value();
      rng.fill_uniform(values, variance ? 0.5f : -1.0f, 1.0f);
    }
  }
}

inline std::vector<std::string> names(const Model& model) {
  std::vector<std::string> result;
  for (const auto& layer : model.layers()) result.push_back(layer->name());
  return result;
}

/// Returns a layer's output for several inputs.
inline std::vector<float> result_of(const LayerHandle& layer,
                                    const std::vector<Tensor>& inputs) {
  std::vector<SymbolicTensor> x;
  for (const Tensor& t : inputs) {
    x.push_back(input(t.shape().slice(1, t.shape().rank())));
  }
  const Model model(x, {layer(x)});
  return values(model.predict(inputs)[0]);
}

/// Returns a model of a single layer.
inline Model single(const LayerHandle& layer, const Shape& sample) {
  const SymbolicTensor x = input(sample, "x");
  return Model(x, layer(x));
}

/// Returns the layer's output for x in inference.
inline Tensor infer(const LayerHandle& layer, const Tensor& x) {
  const Model model = single(layer, x.shape().slice(1, x.shape().rank()));
  const NoGradGuard no_grad;
  return model(Variable(x)).value();
}

}  // namespace octet
