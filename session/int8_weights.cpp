#include "int8_weights.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include <octet/quant/wrapper.h>
#include <octet/runtime/quantization.h>

namespace octet::session {
namespace {

bool equal(const Tensor& a, const Tensor& b) {
  return a.dtype() == b.dtype() && a.shape() == b.shape() &&
         std::memcmp(a.raw(), b.raw(), static_cast<size_t>(a.bytes())) == 0;
}

// Live scales of the dequantized weight may differ in the last bit.
std::optional<Int8Weight> as_int8(const quant::Quantizer& quantizer,
                                  const Parameter& parameter) {
  const int axis = parameter.channel_axis;
  const Tensor& weight = parameter.variable.value();
  const QuantParams before = quantizer.qparams(weight, axis);
  Tensor values = quantize(weight, before);
  const Tensor stored = dequantize(values, before);
  const QuantParams after = quantizer.qparams(stored, axis);
  if (!equal(after.scale, before.scale)) return std::nullopt;
  if (!equal(quantize(stored, after), values)) return std::nullopt;
  const int rank = weight.shape().rank();
  return Int8Weight{.values = std::move(values),
                    .scale = before.scale,
                    .axis = !before.per_channel() ? -1
                            : axis < 0            ? axis + rank
                                                  : axis};
}

}  // namespace

std::map<WeightName, Int8Weight> int8_weights(const Model& model) {
  std::map<uint64_t, int> owners;
  for (const auto& layer : model.layers()) {
    for (const Parameter& p : layer->parameters()) ++owners[p.variable.id()];
  }
  std::map<WeightName, Int8Weight> result;
  for (const auto& layer : model.layers()) {
    const quant::BaseQuantizeWrapper* wrapper = quant::as_wrapper(*layer);
    if (wrapper == nullptr) continue;
    for (const quant::PlacedQuantizer& placed : wrapper->weights()) {
      if (!placed.quantizer->rounds()) continue;
      const auto parameters = layer->parameters();
      const auto p = std::ranges::find(parameters, placed.site.parameter,
                                       &Parameter::name);
      // Another layer may use the weight itself.
      if (p == parameters.end() || owners.at(p->variable.id()) > 1) continue;
      if (auto weight = as_int8(*placed.quantizer, *p)) {
        result.emplace(WeightName(wrapper->inner().name(), p->name),
                       std::move(*weight));
      }
    }
  }
  return result;
}

}  // namespace octet::session
