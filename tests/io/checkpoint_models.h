// Models for the tests of Octet's files, and h5py's view of the files.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <octet/io/model_file.h>
#include <octet/layers/layers.h>
#include <octet/quant/quant.h>
#include <octet/train/train.h>

#include "../support.h"

namespace octet::io {

/// Returns a model with two inputs and outputs, a layer called twice, an Add
/// and batch normalization; all weights are noise.
inline Model branches(const std::string& name = "branches") {
  const SymbolicTensor left = input({6, 5, 2}, "left");
  const SymbolicTensor right = input({6, 5, 2}, "right");
  const Conv2D shared({.filters = 3, .name = "shared"});
  const SymbolicTensor sum =
      Add({.name = "add"})({shared(left), shared(right)});
  SymbolicTensor x = BatchNormalization({.name = "norm"})(sum);
  x = Flatten({.name = "flat"})(ReLU({.name = "relu"})(x));
  const SymbolicTensor logits = Dense({.units = 3, .name = "logits"})(x);
  Model model({right, left}, {logits, x}, {.name = name, .seed = 11});
  uint64_t seed = 100;
  for (const Parameter& p : model.parameters()) {
    Tensor value = noise(p.variable.shape(), seed++);
    // Variances are not negative.
    for (float& v : value.f32()) {
      if (p.name == "moving_variance") v = 1.5f + v;
    }
    p.variable.assign(value);
  }
  return model;
}

/// Returns branches(), calibrated, with a switch, passes and frozen layers.
inline Model quantized_branches() {
  Model model = quant::quantize_model(branches());
  float scale = 0.015625f;
  for (const auto& quantizer : quant::quantizers(model)) {
    if (quantizer->config().rule == quant::ScaleRule::live) continue;
    quantizer->set_scale(scale);
    scale *= 1.3f;
  }
  quant::quantizers(model)[0]->set_enabled(false);
  quant::freeze_bn_stats(model);
  model.layer("quant_logits").set_trainable(false);
  model.set_training_passes(1234);
  return model;
}

/// Returns all outputs for inputs of noise.
inline std::vector<std::vector<uint32_t>> outputs_of(const Model& model) {
  std::vector<Tensor> inputs;
  for (const SymbolicTensor& input : model.inputs()) {
    inputs.push_back(noise(input.shape().with(0, 3), 7 + inputs.size()));
  }
  std::vector<std::vector<uint32_t>> result;
  for (const Tensor& output : model.predict(inputs)) {
    result.push_back(bits(output));
  }
  return result;
}

inline std::vector<std::vector<uint32_t>> weight_bits(const Model& model) {
  std::vector<std::vector<uint32_t>> result;
  for (const quant::NamedWeight& weight : quant::weights_of(model)) {
    result.push_back(bits(weight.value));
  }
  return result;
}

/// Returns the complete state of a model.
inline void expect_equal(const Model& loaded, const Model& model) {
  EXPECT_EQ(to_config(loaded), to_config(model));
  EXPECT_EQ(weight_bits(loaded), weight_bits(model));
  EXPECT_EQ(outputs_of(loaded), outputs_of(model));
  EXPECT_EQ(quant::state_of(loaded).status, quant::state_of(model).status);
  EXPECT_EQ(quant::plan_of(loaded), quant::plan_of(model));
  EXPECT_EQ(loaded.summary(), model.summary());
}

}  // namespace octet::io
