// Fake quantization to floating-point formats, with block scales and with
// trainable offsets: values are computed in float32, one by one.
#include "fake_quantize_format.h"

#include <cmath>
#include <span>
#include <utility>
#include <vector>

#include <octet/runtime/parallel.h>

#include "autograd/scale_gradient.h"
#include "inference/trace.h"
#include "tensor/number_format.h"

namespace octet {
namespace {

// Rounding of x / scale without saturation, and the bounds of the range.
struct IntegerRounding {
  float low, high;
  float round(float v) const { return std::nearbyint(v); }
};
struct FloatRounding {
  FloatFormat format;
  float low = -format.largest, high = format.largest;
  float round(float v) const { return format.round(v); }
};

// Calls body with the rounding of the parameters.
template <class Body>
void with_rounding(const QuantParams& qparams, const Body& body) {
  if (qparams.format == NumberFormat::integer) {
    body(IntegerRounding{static_cast<float>(qparams.low),
                         static_cast<float>(qparams.high)});
  } else {
    body(FloatRounding{float_format(qparams.format)});
  }
}

template <class Rounding>
float round_and_saturate(const Rounding& r, float v) {
  const float q = r.round(v);
  return q < r.low ? r.low : q > r.high ? r.high : q;  // NaN stays NaN
}

// y[i] = body(rounding, x[i], scale[i], i), in parallel.
template <class Body>
void for_each_value(const Tensor& x, const QuantParams& qparams, Tensor& y,
                    const Body& body) {
  const ElementScales scales(x.shape(), qparams);
  const auto from = x.f32();
  const auto to = y.f32();
  with_rounding(qparams, [&](const auto& rounding) {
    const SerialGuard alone(x.size() < kFewValues);
    parallel_chunks(x.size(), [&](int64_t first, int64_t last, int64_t) {
      for (auto i = static_cast<size_t>(first); i < static_cast<size_t>(last);
           ++i) {
        to[i] = body(rounding, from[i], scales[i], i);
      }
    });
  });
}

void quantize_into(const Tensor& x, const QuantParams& qparams, Tensor& y) {
  for_each_value(x, qparams, y,
                 [](const auto& r, float v, float scale, size_t) {
                   return round_and_saturate(r, v / scale) * scale;
                 });
}

// dy for values that rounding without saturation leaves in the range, else 0.
Tensor clipped_gradient(const Tensor& dy, const Tensor& x,
                        const QuantParams& qparams) {
  Tensor result(x.shape());
  const auto g = dy.f32();
  for_each_value(x, qparams, result,
                 [&](const auto& r, float v, float scale, size_t i) {
                   const float q = r.round(v / scale);
                   return q >= r.low && q <= r.high ? g[i] : 0.0f;
                 });
  return result;
}

// The gradients of the scale and of the offset; see LearnedScale.
std::vector<Tensor> affine_gradients(const Tensor& dy, const Tensor& x,
                                     const QuantParams& qparams,
                                     const autograd::ScaleTarget& target) {
  const float scale = qparams.scale.item();
  const auto low = static_cast<float>(qparams.low);
  const auto high = static_cast<float>(qparams.high);
  double of_scale = 0, of_offset = 0;
  const auto g = dy.f32();
  const auto values = x.f32();
  for (size_t i = 0; i < values.size(); ++i) {
    const float v = values[i] / scale;
    if (v >= low && v <= high) {
      of_scale += double{g[i]} * double{std::nearbyint(v) - v};
      continue;
    }
    of_scale += v > high ? double{g[i]} * double{high - low} : 0.0;
    of_offset += double{g[i]};
  }
  return {Tensor::scalar(autograd::scale_gradient(of_scale, scale, target)),
          Tensor::scalar(autograd::scale_gradient(of_offset, scale, target))};
}

// The gradient of each scale; see LearnedScale.
Tensor scale_gradients(const Tensor& dy, const Tensor& x,
                       const QuantParams& qparams,
                       const autograd::ScaleTarget& target) {
  const ElementScales scales(x.shape(), qparams);
  std::vector<double> sums(static_cast<size_t>(qparams.scale.size()));
  const auto g = dy.f32();
  const auto values = x.f32();
  with_rounding(qparams, [&](const auto& r) {
    for (size_t i = 0; i < values.size(); ++i) {
      const float v = values[i] / scales[i];
      const float q = round_and_saturate(r, v);
      const bool inside = v > r.low && v < r.high;
      const float slope = inside ? target.between * (q - v) : q;
      sums[scales.index(i)] += double{g[i]} * double{slope};
    }
  });
  Tensor result(qparams.scale.shape());
  const auto at = std::as_const(qparams.scale).f32();
  for (size_t c = 0; c < sums.size(); ++c) {
    result.f32()[c] = autograd::scale_gradient(sums[c], at[c], target);
  }
  return result;
}

}  // namespace

Variable fake_quantize_format(const Variable& x, const QuantParams& qparams,
                              StraightThrough mode,
                              const LearnedScale& learned) {
  const Variable traced = inference::offer([&] {
    return inference::TracedOp{
        .op = "fake_quantize_format",
        .inputs = {x},
        .shape = x.shape(),
        .forward = [qparams](std::span<const Tensor> in, Tensor& y) {
          quantize_into(in[0], qparams, y);
        }};
  });
  if (traced) return traced;
  Tensor y(x.shape());
  quantize_into(x.value(), qparams, y);
  const auto dx = [x = x.value(), qparams, mode](const Tensor& dy) {
    return mode == StraightThrough::clipped ? clipped_gradient(dy, x, qparams)
                                            : dy;
  };
  if (!learned.scale) {
    return record("fake_quantize", {x}, y, {x.value()},
                  [dx](const Tensor& dy) { return std::vector{dx(dy)}; });
  }
  if (learned.offset) {
    return record("fake_quantize", {x, learned.scale, learned.offset}, y,
                  {x.value()},
                  [dx, x = x.value(), qparams,
                   target = scale_target(learned)](const Tensor& dy) {
                    std::vector<Tensor> gradients =
                        affine_gradients(dy, x, qparams, target);
                    gradients.insert(gradients.begin(), dx(dy));
                    return gradients;
                  });
  }
  return record(
      "fake_quantize", {x, learned.scale}, y, {x.value()},
      [dx, x = x.value(), qparams,
       target = scale_target(learned)](const Tensor& dy) {
        return std::vector{dx(dy), scale_gradients(dy, x, qparams, target)};
      });
}

}  // namespace octet
