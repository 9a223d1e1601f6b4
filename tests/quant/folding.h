// Layers followed by batch normalization, for the tests of folding.
#pragma once

#include <cmath>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

#include "../disturb.h"
#include "support.h"

namespace octet {

/// A layer into which batch normalization folds. Its kernel is viewed as
/// [...][channels][inner], by output channel.
struct LinearKind {
  std::string name;
  std::function<LayerHandle(bool use_bias)> make;
  Shape sample;
  std::string kernel;  ///< the folded parameter
  size_t channels;
  size_t inner = 1;
  std::string folded_kernel =
      kernel;  ///< its name after folding a quantized kernel
};

inline void PrintTo(const LinearKind& kind, std::ostream* out) {
  *out << kind.name;
}

inline std::vector<LinearKind> linear_kinds() {
  return {
      {"Conv2D",
       [](bool use_bias) -> LayerHandle {
         return Conv2D({.filters = 8, .use_bias = use_bias, .name = "linear"});
       },
       {6, 5, 3},
       "kernel",
       8},
      {"Conv2DGroups",
       [](bool use_bias) -> LayerHandle {
         return Conv2D({.filters = 8,
                        .padding = Padding::same,
                        .groups = 2,
                        .use_bias = use_bias,
                        .name = "linear"});
       },
       {6, 5, 4},
       "kernel",
       8},
      {"DepthwiseConv2D",
       [](bool use_bias) -> LayerHandle {
         return DepthwiseConv2D(
             {.strides = {2, 2}, .use_bias = use_bias, .name = "linear"});
       },
       {7, 9, 8},
       "depthwise_kernel",
       8},
      {"DepthwiseConv2DMultiplier",
       [](bool use_bias) -> LayerHandle {
         return DepthwiseConv2D({.kernel_size = {3, 2},
                                 .padding = Padding::same,
                                 .depth_multiplier = 3,
                                 .use_bias = use_bias,
                                 .name = "linear"});
       },
       {6, 5, 4},
       "depthwise_kernel",
       12,
       1,
       "kernel"},
      {"DepthwiseConv2DOfOneChannel",
       [](bool use_bias) -> LayerHandle {
         return DepthwiseConv2D({.depth_multiplier = 8,
                                 .dilation_rate = {2, 1},
                                 .use_bias = use_bias,
                                 .name = "linear"});
       },
       {8, 5, 1},
       "depthwise_kernel",
       8,
       1,
       "kernel"},
      {"Conv2DTranspose",
       [](bool use_bias) -> LayerHandle {
         return Conv2DTranspose({.filters = 8,
                                 .strides = {2, 2},
                                 .use_bias = use_bias,
                                 .name = "linear"});
       },
       {4, 3, 5},
       "kernel",
       8,
       5},
      {"SeparableConv2D",
       [](bool use_bias) -> LayerHandle {
         return SeparableConv2D({.filters = 8,
                                 .depth_multiplier = 2,
                                 .use_bias = use_bias,
                                 .name = "linear"});
       },
       {6, 5, 3},
       "pointwise_kernel",
       8},
      {"Dense",
       [](bool use_bias) -> LayerHandle {
         return Dense({.units = 8, .use_bias = use_bias, .name = "linear"});
       },
       {17},
       "kernel",
       8},
      {"DenseOnTokens",
       [](bool use_bias) -> LayerHandle {
         return Dense({.units = 8, .use_bias = use_bias, .name = "linear"});
       },
       {5, 6},
       "kernel",
       8},
      {"Conv1D",
       [](bool use_bias) -> LayerHandle {
         return Conv1D({.filters = 8,
                        .padding = "causal",
                        .dilation_rate = 2,
                        .groups = 2,
                        .use_bias = use_bias,
                        .name = "linear"});
       },
       {11, 4},
       "kernel",
       8},
      {"DepthwiseConv1D",
       [](bool use_bias) -> LayerHandle {
         return DepthwiseConv1D(
             {.strides = 2, .use_bias = use_bias, .name = "linear"});
       },
       {11, 8},
       "depthwise_kernel",
       8},
      {"DepthwiseConv1DMultiplier",
       [](bool use_bias) -> LayerHandle {
         return DepthwiseConv1D({.kernel_size = 4,
                                 .strides = 2,
                                 .padding = "same",
                                 .depth_multiplier = 2,
                                 .dilation_rate = 2,
                                 .use_bias = use_bias,
                                 .name = "linear"});
       },
       {13, 4},
       "depthwise_kernel",
       8,
       1,
       "kernel"},
      {"SeparableConv1D",
       [](bool use_bias) -> LayerHandle {
         return SeparableConv1D({.filters = 8,
                                 .depth_multiplier = 2,
                                 .use_bias = use_bias,
                                 .name = "linear"});
       },
       {9, 3},
       "pointwise_kernel",
       8},
  };
}

inline Tensor value_of(const Model& model, const std::string& layer,
                       const std::string& parameter) {
  return model.layer(layer).parameter(parameter).variable.value();
}

inline void set_value(const Model& model, const std::string& layer,
                      const std::string& parameter,
                      const std::vector<float>& values) {
  const Variable& v = model.layer(layer).parameter(parameter).variable;
  v.assign(tensor(v.shape(), values));
}

/// Typical and degenerate statistics, varying by channel: both signs, zero
/// factor, zero variance, a large variance.
inline void set_hard_statistics(const Model& model, const std::string& bn) {
  const float gamma[] = {1.3f, -0.7f, 0, 0.02f, -2.5f, 1, -1e-3f, 0.9f};
  const float variance[] = {0.5f, 2, 1, 1e-12f, 0, 1e6f, 0.3f, 40};
  const size_t channels =
      static_cast<size_t>(value_of(model, bn, "gamma").size());
  std::vector<float> g, v;
  for (size_t c = 0; c < channels; ++c) {
    g.push_back(gamma[c % 8]);
    v.push_back(variance[c % 8]);
  }
  set_value(model, bn, "gamma", g);
  set_value(model, bn, "moving_variance", v);
}

/// x -> linear -> bn with such statistics and a kernel whose channel 5 is 0.
inline Model normalized(const LinearKind& kind, bool use_bias = true) {
  const SymbolicTensor x = input(kind.sample, "x");
  SymbolicTensor y = kind.make(use_bias)(x);
  Model model(x, BatchNormalization({.name = "bn"})(y), {.name = kind.name});
  shake(model);
  set_hard_statistics(model, "bn");
  std::vector<float> kernel = values(value_of(model, "linear", kind.kernel));
  for (size_t i = 0; i < kernel.size(); ++i) {
    if (i / kind.inner % kind.channels == 5) kernel[i] = 0;
  }
  set_value(model, "linear", kind.kernel, kernel);
  return model;
}

/// disturb(), with the sign of every fifth gamma flipped.
inline void disturb_signs(const Model& model) {
  disturb(model);
  for (const auto& layer : model.layers()) {
    for (const Parameter& p : layer->parameters()) {
      if (p.name != "gamma") continue;
      const auto value = p.variable.mutable_value();
      for (size_t i = 0; i < value.size(); i += 5) value[i] *= -1;
    }
  }
}

/// Factor and shift of the normalization per channel.
struct FactorAndShift {
  std::vector<double> factor, shift;
};

inline FactorAndShift factor_and_shift(const Model& model,
                                       const std::string& bn,
                                       double epsilon = 1e-3f) {
  FactorAndShift result;
  const auto gamma = values(value_of(model, bn, "gamma"));
  const auto beta = values(value_of(model, bn, "beta"));
  const auto mean = values(value_of(model, bn, "moving_mean"));
  const auto variance = values(value_of(model, bn, "moving_variance"));
  for (size_t c = 0; c < gamma.size(); ++c) {
    const double f = gamma[c] / std::sqrt(variance[c] + epsilon);
    result.factor.push_back(f);
    result.shift.push_back(beta[c] - mean[c] * f);
  }
  return result;
}

/// x -> linear -> bn with Q/DQ at x, at the intermediate tensor and at every
/// kernel.
inline Model quantized(
    const Model& model,
    const quant::QuantizerConfig& weight = quant::weight_quantizer()) {
  quant::QdqPlan plan = plan_by_hand("linear", "x");
  for (const Parameter& p : model.layer("linear").parameters()) {
    if (p.name == "bias") continue;
    plan.points.push_back({.layer = "linear",
                           .site = quant::QdqSite::weight(p.name),
                           .config = weight,
                           .group = "linear/" + p.name,
                           .rule = "user",
                           .reason = "by hand"});
  }
  const std::string_view inner =
      quant::intermediate_tensor(model.layer("linear"));
  if (!inner.empty()) {
    plan.points.push_back(
        {.layer = "linear",
         .site = quant::QdqSite::intermediate(std::string(inner)),
         .config = quant::activation_quantizer(),
         .group = "inner",
         .rule = "user",
         .reason = "by hand"});
  }
  return quant::apply(plan, model);
}

/// As above, with scales from noise.
inline Model quantized_and_calibrated(
    const Model& model,
    const quant::QuantizerConfig& weight = quant::weight_quantizer()) {
  Model result = quantized(model, weight);
  quant::calibrate(
      result,
      [](const Model& m) {
        (void)m.predict(noise(m.inputs()[0].shape().with(0, 16), 3));
      },
      {.method = quant::Calibration::max});
  return result;
}

/// Quantized values of a weight by their definition, with its quantizer's
/// scales.
inline std::vector<int> codes_of(const Model& model, const std::string& layer,
                                 const std::string& parameter) {
  const quant::BaseQuantizeWrapper& wrapped = wrapper(model, layer);
  const Parameter& p = wrapped.inner().parameter(parameter);
  for (const auto& weight : wrapped.weights()) {
    if (weight.site.parameter != parameter) continue;
    const QuantParams qparams =
        weight.quantizer->weight_qparams(p.variable, p.channel_axis);
    const Shape& shape = p.variable.shape();
    const int axis = (p.channel_axis + shape.rank()) % shape.rank();
    size_t inner = 1;
    for (int i = axis + 1; i < shape.rank(); ++i) {
      inner *= static_cast<size_t>(shape[i]);
    }
    std::vector<int> codes;
    for (size_t i = 0; i < p.variable.value().f32().size(); ++i) {
      const size_t channel = i / inner % static_cast<size_t>(shape[axis]);
      const float s = qparams.scale.f32()[qparams.per_channel() ? channel : 0];
      const float q = std::nearbyint(p.variable.value().f32()[i] / s);
      codes.push_back(static_cast<int>(
          std::min(std::max(q, static_cast<float>(qparams.low)),
                   static_cast<float>(qparams.high))));
    }
    return codes;
  }
  throw NotFoundError("unknown_name", parameter, "no quantizer");
}

}  // namespace octet
