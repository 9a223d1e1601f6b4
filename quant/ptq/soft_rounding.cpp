#include "ptq/soft_rounding.h"

#include <algorithm>
#include <cmath>

#include <octet/runtime/parallel.h>

namespace octet::quant {
namespace {

// Stretched sigmoid: reaches 0 and 1, with zero gradient beyond.
constexpr float kStretch = 1.2f;
constexpr float kShift = -0.1f;

float stretched_sigmoid(float v) {
  return kStretch / (1 + std::exp(-v)) + kShift;
}

}  // namespace

SoftRounding::SoftRounding(const Tensor& weights, const QuantParams& qparams)
    : shape_(weights.shape()), scale_(weights.shape(), qparams) {
  const auto w = weights.f32();
  for (size_t i = 0; i < w.size(); ++i) {
    const float x = w[i] / scale_[i];
    const float low = std::clamp(std::floor(x), static_cast<float>(qparams.low),
                                 static_cast<float>(qparams.high - 1));
    const float share = std::clamp(x - low, 0.0f, 1.0f);
    low_.push_back(low);
    nearest_.push_back(quantize(w[i], scale_[i], qparams.low, qparams.high));
    fixed_.push_back(w[i] == 0);
    v_.push_back(-std::log(kStretch / (share - kShift) - 1));
  }
  mean_.resize(v_.size());
  square_.resize(v_.size());
}

template <class Code>
Tensor SoftRounding::times_scale(const Code& code) const {
  Tensor result(shape_);
  const auto to = result.f32();
  for (size_t i = 0; i < to.size(); ++i) to[i] = scale_[i] * code(i);
  return result;
}

Tensor SoftRounding::soft() const {
  return times_scale([&](size_t i) {
    return low_[i] + std::clamp(stretched_sigmoid(v_[i]), 0.0f, 1.0f);
  });
}

Tensor SoftRounding::nearest() const {
  return times_scale([&](size_t i) { return nearest_[i]; });
}

Tensor SoftRounding::rounded() const {
  return times_scale(
      [&](size_t i) { return v_[i] < 0 ? low_[i] : low_[i] + 1; });
}

void SoftRounding::step(const Tensor& gradient, double lambda, double beta) {
  constexpr double kRate = 0.03;
  constexpr float kMean = 0.9f, kSquare = 0.999f, kSmall = 1e-8f;
  ++steps_;
  const auto rate = static_cast<float>(
      kRate * std::sqrt(1 - std::pow(double{kSquare}, steps_)) /
      (1 - std::pow(double{kMean}, steps_)));
  const auto pull = static_cast<float>(2 * lambda * beta);
  const auto power = static_cast<float>(beta - 1);
  const auto dw = gradient.f32();
  parallel_chunks(size(), [&](int64_t first, int64_t last, int64_t) {
    for (auto i = static_cast<size_t>(first); i < static_cast<size_t>(last);
         ++i) {
      if (fixed_[i]) continue;
      const float h = stretched_sigmoid(v_[i]);
      float dv = 0;
      if (h >= 0 && h <= 1) {
        const float sigmoid = (h - kShift) / kStretch;
        float dh = dw[i] * scale_[i];
        if (pull > 0) {
          const float d = 2 * h - 1;
          dh -= pull * std::copysign(std::pow(std::fabs(d), power), d);
        }
        dv = dh * kStretch * sigmoid * (1 - sigmoid);
      }
      mean_[i] += (1 - kMean) * (dv - mean_[i]);
      square_[i] += (1 - kSquare) * (dv * dv - square_[i]);
      v_[i] -= rate * mean_[i] / (std::sqrt(square_[i]) + kSmall);
    }
  });
}

}  // namespace octet::quant
