// Small models and calibrated copies for quantization tests.
#pragma once

#include <cmath>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <octet/quant/quant.h>
#include <octet/runtime/ops.h>

#include "tests/layers/support.h"

namespace octet {

/// The network of the README's first program, on images [8,6,1]: image, conv2d,
/// batch_normalization, re_lu, max_pooling2d, flatten, dense.
inline Model quickstart(uint64_t seed = 0) {
  const SymbolicTensor image = input({8, 6, 1}, "image");
  SymbolicTensor x = Conv2D({.filters = 4, .use_bias = false})(image);
  x = MaxPooling2D()(ReLU()(BatchNormalization()(x)));
  Model model(image, Dense({.units = 3})(Flatten()(x)),
              {.name = "quickstart", .seed = seed});
  shake(model);
  return model;
}

/// Sets the square kernel of a dense layer to `factor` on its diagonal.
inline void set_diagonal(Layer& layer, float factor) {
  Tensor kernel = Tensor::zeros(layer.parameter("kernel").variable.shape());
  const auto units = static_cast<size_t>(kernel.shape()[1]);
  for (size_t i = 0; i < units; ++i) kernel.f32()[i * units + i] = factor;
  layer.parameter("kernel").variable.assign(kernel);
}

/// Dense "first" = 2x, ReLU, Dense "second" = x: activations in closed form.
inline Model doubling(int64_t width = 3) {
  const SymbolicTensor x = input({width}, "x");
  SymbolicTensor y = Dense({.units = width, .name = "first"})(x);
  y = ReLU({.name = "relu"})(y);
  Model model(x, Dense({.units = width, .name = "second"})(y));
  set_diagonal(model.layer("first"), 2);
  set_diagonal(model.layer("second"), 1);
  return model;
}

/// Returns the quantizer of that name.
template <class AnyModel>
auto quantizer(AnyModel&& model, const std::string& name) {
  for (const auto& each : quant::quantizers(model)) {
    if (each->name() == name) return each;
  }
  throw NotFoundError("unknown_name", name, "no such quantizer");
}

/// Returns the fixed scales, in the model's order.
inline std::vector<std::optional<float>> scales(const Model& model) {
  std::vector<std::optional<float>> result;
  for (const auto& each : quant::quantizers(model)) {
    result.push_back(each->scale());
  }
  return result;
}

/// Returns whether each quantizer is enabled.
inline std::vector<bool> switches(const Model& model) {
  std::vector<bool> result;
  for (const auto& each : quant::quantizers(model)) {
    result.push_back(each->enabled());
  }
  return result;
}

inline const quant::BaseQuantizeWrapper& wrapper(const Model& model,
                                                 const std::string& name) {
  return *quant::as_wrapper(model.layer(name));
}

/// n samples of noise with labels 0, 1, 2, 0, ...
inline Dataset samples(int64_t n, const Shape& shape, uint64_t seed = 1) {
  std::vector<int64_t> dims{n};
  dims.insert(dims.end(), shape.dims().begin(), shape.dims().end());
  Tensor labels(Shape{n}, DType::i64);
  for (int64_t i = 0; i < n; ++i) {
    labels.data<int64_t>()[static_cast<size_t>(i)] = i % 3;
  }
  return Dataset(noise(Shape(dims), seed), labels);
}

/// A quantized quickstart with scales from noise.
inline Model calibrated_quickstart() {
  Model model = quant::quantize_model(quickstart());
  quant::calibrate(model, samples(40, {8, 6, 1}),
                   {.method = quant::Calibration::max});
  return model;
}

/// Returns the plan of quantize_model.
inline quant::QdqPlan plan_for(const Model& model,
                               const quant::QuantizeOptions& options = {}) {
  return quant::place(model, options).plan;
}

/// A plan of a single point, at the input of `layer` from `source`.
inline quant::QdqPlan plan_by_hand(const std::string& layer,
                                   const std::string& source) {
  quant::QdqPlan plan;
  plan.points.push_back({.layer = layer,
                         .site = quant::QdqSite::input(0),
                         .config = quant::activation_quantizer(),
                         .group = source,
                         .rule = "user",
                         .reason = "by hand"});
  return plan;
}

/// Quantizes x to [low, high] by the definition.
inline float rounded_to(float x, float scale, int low = -128, int high = 127) {
  const float code = std::nearbyint(x / scale);
  return scale * std::min(std::max(code, static_cast<float>(low)),
                          static_cast<float>(high));
}

}  // namespace octet
