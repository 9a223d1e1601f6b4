#include "sensitivity/reference_weights.h"

#include <algorithm>
#include <cmath>
#include <string>

#include <fmt/format.h>

#include <octet/quant/wrapper.h>
#include <octet/runtime/error.h>

namespace octet::quant {
namespace {

/// Returns whether at least 99 % of the values are within a step of the exact
/// or clipped values.
bool is_rounded(const Tensor& stored, const Tensor& exact,
                const QuantParams& qparams) {
  constexpr double kMayDiffer = 0.01;
  const ElementScales scales(stored.shape(), qparams);
  int64_t others = 0;
  for (size_t i = 0; i < stored.f32().size(); ++i) {
    const float scale = scales[i];
    const float value = exact.f32()[i];
    const float low = scale * static_cast<float>(qparams.low);
    const float high = scale * static_cast<float>(qparams.high);
    const float error =
        std::fabs(stored.f32()[i] - std::clamp(value, low, high));
    others += !(error <= 1.01f * scale);
  }
  return static_cast<double>(others) <=
         kMayDiffer * static_cast<double>(stored.size());
}

}  // namespace

ReferenceWeights::ReferenceWeights(const Model& model, const Model& reference) {
  for (const auto& layer : model.layers()) {
    const BaseQuantizeWrapper* wrapper = as_wrapper(*layer);
    if (wrapper == nullptr) continue;
    const std::string& name = wrapper->inner().name();
    for (const PlacedQuantizer& placed : wrapper->weights()) {
      const Parameter& own = wrapper->inner().parameter(placed.site.parameter);
      const Tensor& exact = float_layer(reference.layer(name))
                                .parameter(placed.site.parameter)
                                .variable.value();
      const Tensor& stored = own.variable.value();
      if (exact.shape() != stored.shape()) {
        throw ShapeError(
            "shape_mismatch", fmt::format("layer '{}'", name),
            fmt::format("{} is {} in the reference, but {} in the "
                        "quantized model",
                        placed.site.parameter, exact.shape().to_string(),
                        stored.shape().to_string()));
      }
      const QuantParams qparams =
          placed.quantizer->qparams(stored, own.channel_axis);
      if (!is_rounded(stored, exact, qparams)) {
        throw ValueError(
            "invalid_value", fmt::format("layer '{}'", name),
            fmt::format("{} is not a rounding of the reference's. Hint: "
                        "pass the float model that was quantized; training and "
                        "equalization change weights",
                        placed.site.parameter));
      }
      weights_.push_back(
          {placed.quantizer, own.variable, stored.clone(), exact.clone()});
    }
  }
}

void ReferenceWeights::follow_quantizers() {
  for (ReferenceWeight& weight : weights_) {
    const bool on = weight.quantizer->enabled();
    if (on == weight.on) continue;
    const Tensor& from = on ? weight.stored : weight.exact;
    std::ranges::copy(from.f32(), weight.variable.mutable_value().begin());
    weight.on = on;
  }
}

}  // namespace octet::quant
