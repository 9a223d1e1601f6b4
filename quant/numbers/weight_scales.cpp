#include "numbers/weight_scales.h"

#include <cmath>
#include <limits>
#include <utility>
#include <vector>

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

// Returns the values of each slice along `axis`.
std::vector<std::vector<float>> slices(const Tensor& weight, int axis) {
  const Shape& shape = weight.shape();
  const int at = axis < 0 ? axis + shape.rank() : axis;
  const auto count = static_cast<size_t>(shape[at]);
  const auto inner =
      static_cast<size_t>(shape.slice(at + 1, shape.rank()).size());
  std::vector<std::vector<float>> result(count);
  const auto values = weight.f32();
  for (size_t i = 0; i < values.size(); ++i) {
    result[i / inner % count].push_back(values[i]);
  }
  return result;
}

}  // namespace

Tensor weight_scales(const Tensor& weight, int axis,
                     const QuantizerConfig& config, WeightRange range) {
  const Tensor tops = config.per_channel ? absmax_per_channel(weight, axis)
                                         : Tensor::scalar(absmax(weight));
  Tensor scales(tops.shape());
  const auto top = tops.f32();
  const auto to = scales.f32();
  for (size_t i = 0; i < to.size(); ++i) {
    to[i] = scale_of_range(top[i], config.high());
  }
  if (range == WeightRange::max) return scales;
  std::vector<std::vector<float>> channels;
  if (config.per_channel) channels = slices(weight, axis);
  parallel_for(scales.size(), [&](int64_t i) {
    const auto c = static_cast<size_t>(i);
    if (top[c] < kSmallestRange) return;
    const std::span<const float> values =
        config.per_channel ? std::span<const float>(channels[c])
                           : std::as_const(weight).f32();
    to[c] = mse_scale(values, top[c], config.qparams());
  });
  return scales;
}

}  // namespace octet::quant
