// Layers that multiply and shift each channel: depthwise convolutions of one
// pixel. Their weights are exact: each channel has one weight, +-127 times its
// scale.
#include <cmath>

#include <fmt/format.h>

#include <octet/runtime/error.h>

#include "lowering.h"

namespace octet::io::tflite {
namespace {

using Floats = std::vector<float>;

Value affine(Lowering& call, const Floats& factors, const Floats& offsets) {
  const Value& given = call.inputs[0];
  const Shape& s = given.shape;
  const int64_t channels = s[-1];
  if (s.rank() < 2 || s.rank() > 4) {
    throw UnsupportedError(
        "unsupported_layer", call.layer.describe(),
        fmt::format("input must have 2 to 4 axes, got {}", s.to_string()));
  }
  const Shape image = s.rank() == 2   ? Shape{s[0], 1, 1, channels}
                      : s.rank() == 3 ? Shape{s[0], 1, s[1], channels}
                                      : s;
  const Value x = s.rank() == 2 ? call.reshaped(given, image, "image")
                                : call.image_of(given);
  Tensor values = Tensor::zeros({channels});
  Tensor scales = Tensor::zeros({channels});
  for (int64_t c = 0; c < channels; ++c) {
    const auto i = static_cast<size_t>(c);
    values.f32()[i] = factors[i];
    scales.f32()[i] = scale_of_range(std::abs(factors[i]), 127);
  }
  const LinearWeights weights = add_weights(
      call, x, "factors", values, offsets,
      {.stored = {1, 1, 1, channels}, .axis = 3},
      QuantParams{.scale = scales, .axis = 0, .low = -127, .high = 127});
  const Value y = s.rank() == 4 ? call.add_output()
                                : call.add_part("output", image, call.quant);
  schema::DepthwiseConv2DOptionsT options;
  options.padding = schema::Padding::VALID;
  options.stride_h = options.stride_w = options.depth_multiplier = 1;
  options.activation = call.fused;
  call.file.add_operator(schema::Op::DEPTHWISE_CONV_2D, 3,
                         {x.tensor, weights.kernel.constant, weights.bias},
                         {y.tensor}, std::move(options));
  return s.rank() == 2 ? call.reshaped(y, s, "")
                       : call.sequence_of(y, call.shape());
}

Floats values_of(const Lowering& call, std::string_view name, size_t count,
                 float otherwise) {
  for (const Parameter& p : call.layer.parameters()) {
    if (p.name != name) continue;
    const auto from = p.variable.value().f32();
    return {from.begin(), from.end()};
  }
  return Floats(count, otherwise);
}

// A number, or a list along the last axis.
Floats constants_of(const Config& value, size_t count) {
  if (!value.is_list()) {
    return Floats(count, static_cast<float>(value.as_number()));
  }
  Floats result;
  for (const Config& v : value.as_list()) {
    result.push_back(static_cast<float>(v.as_number()));
  }
  if (result.size() == 1) return Floats(count, result[0]);
  return result;
}

}  // namespace

Value lower_batch_norm(Lowering& call) {
  const auto count = static_cast<size_t>(call.shape()[-1]);
  const Floats gamma = values_of(call, "gamma", count, 1);
  const Floats beta = values_of(call, "beta", count, 0);
  const Floats mean = values_of(call, "moving_mean", count, 0);
  const Floats variance = values_of(call, "moving_variance", count, 1);
  const double epsilon = call.config.at("epsilon").as_number();
  Floats factors(count), offsets(count);
  for (size_t c = 0; c < count; ++c) {
    const double factor = gamma[c] / std::sqrt(variance[c] + epsilon);
    factors[c] = static_cast<float>(factor);
    offsets[c] = static_cast<float>(beta[c] - mean[c] * factor);
  }
  return affine(call, factors, offsets);
}

Value lower_rescaling(Lowering& call) {
  const auto count = static_cast<size_t>(call.shape()[-1]);
  return affine(call, constants_of(call.config.at("scale"), count),
                constants_of(call.config.at("offset"), count));
}

Value lower_layer_scale(Lowering& call) {
  const auto count = static_cast<size_t>(call.shape()[-1]);
  return affine(call, values_of(call, "gamma", count, 1), Floats(count, 0));
}

}  // namespace octet::io::tflite
