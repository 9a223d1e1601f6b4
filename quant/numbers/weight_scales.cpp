#include "numbers/weight_scales.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include <octet/runtime/error.h>
#include <octet/runtime/parallel.h>
#include <octet/runtime/quantization.h>

namespace octet::quant {
namespace {

double square_error(std::span<const float> values, float scale,
                    const QuantParams& qparams) {
  double error = 0;
  for (const float v : values) {
    const double e = double{scale} * quantize(v, scale, qparams) - v;
    error += e * e;
  }
  return error;
}

// Returns the scale with the least square error among fractions of `top`:
// multiples of 0.01, then of 0.001 around the best. Few bits need small
// fractions.
float mse_scale(std::span<const float> values, float top,
                const QuantParams& qparams) {
  int best = 1000;
  double least = std::numeric_limits<double>::infinity();
  const auto scale_of = [&](int share) {
    return scale_of_range(top * (static_cast<float>(share) / 1000),
                          qparams.high);
  };
  const auto try_shares = [&](int from, int to, int step) {
    for (int share = from; share <= to; share += step) {
      const double error = square_error(values, scale_of(share), qparams);
      if (error > least) continue;
      least = error;
      best = share;
    }
  };
  try_shares(50, 1000, 10);
  const int coarse = best;
  try_shares(coarse - 9, std::min(coarse + 9, 1000), 1);
  return scale_of(best);
}

// Groups the values by their scale.
std::vector<std::vector<float>> values_of_scales(const Tensor& weight,
                                                 const QuantParams& qparams) {
  const ElementScales scales(weight.shape(), qparams);
  std::vector<std::vector<float>> result(
      static_cast<size_t>(qparams.scale.size()));
  const auto values = weight.f32();
  for (size_t i = 0; i < values.size(); ++i) {
    result[scales.index(i)].push_back(values[i]);
  }
  return result;
}

// The axis of the inputs of a kernel [in,out] or [out,in], for blocks.
int input_axis(std::string_view subject, const Shape& kernel, int axis) {
  if (kernel.rank() == 2) return axis == 0 || axis == -2 ? 1 : 0;
  throw UnsupportedError("invalid_shape", std::string(subject),
                         fmt::format("blocks require a kernel [in,out], got {}",
                                     kernel.to_string()));
}

}  // namespace

QuantParams with_reshaped_blocks(std::string_view subject, QuantParams qparams,
                                 const Shape& weight, int axis) {
  if (qparams.block == 0) return qparams;
  qparams.axis = input_axis(subject, weight, axis);
  const Shape shape = shape_of_blocks(weight, qparams.axis, qparams.block);
  if (shape.size() != qparams.scale.size()) {
    throw ShapeError(
        "count_mismatch", std::string(subject),
        fmt::format("blocks of {} of {} need {} scales, got {}", qparams.block,
                    weight.to_string(), shape.size(), qparams.scale.size()));
  }
  qparams.scale = qparams.scale.reshaped(shape);
  return qparams;
}

QuantParams live_qparams(std::string_view subject, const Tensor& weight,
                         int axis, const QuantizerConfig& config) {
  QuantParams result = config.qparams();
  result.axis = axis;
  if (config.block > 0) {
    result.axis = input_axis(subject, weight.shape(), axis);
    result.scale = absmax_per_block(weight, result.axis, config.block);
  } else if (config.per_channel) {
    result.scale = absmax_per_channel(weight, axis);
  } else {
    result.scale = Tensor::scalar(absmax(weight));
  }
  for (float& s : result.scale.f32()) s = scale_of_range(s, result.high);
  return result;
}

Tensor weight_scales(std::string_view subject, const Tensor& weight, int axis,
                     const QuantizerConfig& config, WeightRange range) {
  const QuantParams qparams = live_qparams(subject, weight, axis, config);
  if (range == WeightRange::max) return qparams.scale;
  Tensor scales = qparams.scale.clone();
  const auto to = scales.f32();
  const auto groups = values_of_scales(weight, qparams);
  parallel_for(scales.size(), [&](int64_t i) {
    const std::span<const float> values = groups[static_cast<size_t>(i)];
    float top = 0;
    for (const float v : values) top = std::max(top, std::fabs(v));
    if (top < kSmallestRange) return;
    to[static_cast<size_t>(i)] = mse_scale(values, top, qparams);
  });
  return scales;
}

}  // namespace octet::quant
