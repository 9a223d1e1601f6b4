// A pruned network, and samples for it.
#pragma once

#include <octet/layers/layers.h>
#include <octet/quant/quant.h>
#include <octet/runtime/dataset.h>

#include "../support.h"

namespace octet::quant {

/// A network whose "hidden" layer has every second weight zero, "logits" none.
inline Model pruned_network() {
  const SymbolicTensor x = input({8}, "x");
  SymbolicTensor y = Dense({.units = 8, .name = "hidden"})(x);
  y = Dense({.units = 2, .name = "logits"})(ReLU()(y));
  Model model(x, y);
  Tensor kernel = noise({8, 8});
  for (size_t i = 0; i < 64; ++i) {
    if ((i + i / 8) % 2 == 0) kernel.f32()[i] = 0;
  }
  Variable(model.layer("hidden").parameter("kernel").variable).assign(kernel);
  return model;
}

inline Dataset pruned_samples() {
  Tensor labels({64}, DType::i64);
  for (size_t i = 0; i < 64; ++i) {
    labels.data<int64_t>()[i] = static_cast<int64_t>(i % 2);
  }
  // Correlated inputs, so that weights can compensate each other; a smaller
  // input needs a larger weight.
  Tensor inputs = noise({64, 8});
  for (size_t i = 0; i < 64; ++i) {
    float share = 1;
    for (size_t k = 1; k < 8; ++k) {
      share *= 0.6f;
      float& x = inputs.f32()[8 * i + k];
      x = 0.02f * x + share * inputs.f32()[8 * i];
    }
  }
  return Dataset(inputs, labels);
}

inline Model pruned_int8(const Model& model, int bits = 8) {
  Model result = quantize_model(model, {.weight = {.bits = bits,
                                                   .narrow_range = true,
                                                   .per_channel = true,
                                                   .rule = ScaleRule::fixed}});
  calibrate(result, pruned_samples());
  return result;
}

}  // namespace octet::quant
