// Models for the tests of session files.
#pragma once

#include <string>
#include <vector>

#include <octet/layers/layers.h>
#include <octet/quant/quant.h>

#include "../support.h"

namespace octet {

/// Returns a copy with INT8 layers, calibrated with noise.
inline Model calibrated(const Model& model,
                        const quant::QuantizeOptions& options = {}) {
  Model result = quant::quantize_model(model, options);
  std::vector<Tensor> x;
  for (const SymbolicTensor& input : model.inputs()) {
    x.push_back(noise(input.shape().with(0, 2), 3 + x.size()));
  }
  (void)quant::calibrate(result, [&](const Model& m) { (void)m.predict(x); });
  return result;
}

/// Returns a model with two inputs of odd sizes, a layer called twice, and two
/// outputs; all weights are noise.
inline Model two_branches() {
  const SymbolicTensor left = input({7, 5, 3}, "left");
  const SymbolicTensor right = input({7, 5, 3}, "right");
  const Conv2D shared({.filters = 17, .kernel_size = 3, .name = "shared"});
  SymbolicTensor x = Add({.name = "add"})({shared(left), shared(right)});
  x = BatchNormalization({.name = "norm"})(x);
  x = DepthwiseConv2D({.kernel_size = 2, .name = "depthwise"})(x);
  x = Flatten({.name = "flat"})(ReLU({.name = "relu"})(x));
  Model model({right, left}, {Dense({.units = 3, .name = "logits"})(x), x},
              {.name = "branches", .seed = 11});
  uint64_t seed = 100;
  for (const Parameter& p : model.parameters()) {
    Tensor value = noise(p.variable.shape(), seed++);
    for (float& v : value.f32()) {
      if (p.name == "moving_variance") v = 1.5f + v;
    }
    p.variable.assign(value);
  }
  return model;
}

/// Returns the outputs of the forward pass for `samples` samples of noise.
inline std::vector<std::vector<uint32_t>> forward_bits(const Model& model,
                                                       int64_t samples) {
  const NoGradGuard no_grad;
  std::vector<Variable> x;
  for (const SymbolicTensor& input : model.inputs()) {
    x.emplace_back(noise(input.shape().with(0, samples), 7 + x.size()));
  }
  std::vector<std::vector<uint32_t>> result;
  for (const Variable& y : model(x)) result.push_back(bits(y));
  return result;
}

/// The same of a session.
inline std::vector<std::vector<uint32_t>> session_bits(
    const InferenceSession& session, int64_t samples) {
  std::vector<Tensor> x;
  for (const TensorSpec& input : session.inputs()) {
    std::vector<int64_t> dims{samples};
    for (const int64_t dim : input.shape.dims()) dims.push_back(dim);
    x.push_back(noise(Shape(std::span<const int64_t>(dims)), 7 + x.size()));
  }
  std::vector<std::vector<uint32_t>> result;
  for (const Tensor& y : session.run(x)) result.push_back(bits(y));
  return result;
}

}  // namespace octet
