#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include <octet/runtime/error.h>
#include <octet/runtime/parallel.h>
#include <octet/runtime/quantization.h>

#include "kernels/kernels.h"

namespace octet {
namespace {

// Extents of a tensor as [outer][channels][inner] around the channel axis; a
// single channel if quantized per tensor.
struct Channels {
  int64_t outer = 1;
  int64_t count = 1;
  int64_t inner = 1;
};

Channels channels_around(const Shape& shape, int axis) {
  Channels result;
  const int index = axis < 0 ? axis + shape.rank() : axis;
  result.count = shape[axis];
  for (int i = 0; i < index; ++i) result.outer *= shape[i];
  for (int i = index + 1; i < shape.rank(); ++i) result.inner *= shape[i];
  return result;
}

Channels channels_of(const Shape& shape, const QuantParams& qparams) {
  if (!qparams.plain_integer()) {
    throw UnsupportedError(
        "unsupported_value", "quantization parameters",
        fmt::format("quantized values are integers with a scale per tensor or "
                    "channel, got {}",
                    to_string(qparams)));
  }
  if (qparams.empty())
    throw ValueError("missing_value", "quantization parameters", "no scale");
  if (!qparams.per_channel()) {
    if (qparams.scale.size() != 1) {
      throw ShapeError("invalid_shape", "quantization parameters",
                       fmt::format("scale must have shape [] or [c], got {}",
                                   qparams.scale.shape().to_string()));
    }
    return {1, 1, shape.size()};
  }
  const Channels result = channels_around(shape, qparams.axis);
  if (qparams.scale.size() != result.count) {
    throw ShapeError(
        "count_mismatch", "quantization parameters",
        fmt::format("axis {} of {} needs {} scales, got {}", qparams.axis,
                    shape.to_string(), result.count, qparams.scale.size()));
  }
  return result;
}

// Calls body(channel, first, last) for each run of elements of a channel.
template <class Body>
void for_each_segment(const Channels& c, Body body) {
  int64_t at = 0;
  for (int64_t outer = 0; outer < c.outer; ++outer) {
    for (int64_t channel = 0; channel < c.count; ++channel, at += c.inner) {
      body(static_cast<size_t>(channel), static_cast<size_t>(at),
           static_cast<size_t>(at + c.inner));
    }
  }
}

// NaN takes precedence, as comparisons would drop it.
float larger_magnitude(float top, float magnitude) {
  return magnitude > top || std::isnan(magnitude) ? magnitude : top;
}

}  // namespace

float quantize(float x, float scale, int low, int high) {
  float v = x / scale;
  v = v < static_cast<float>(low) ? static_cast<float>(low) : v;
  v = v > static_cast<float>(high) ? static_cast<float>(high) : v;
  return std::nearbyint(v);  // half to even, the default rounding mode
}

float quantize(float x, float scale, const QuantParams& qparams) {
  return qparams.format == NumberFormat::integer
             ? quantize(x, scale, qparams.low, qparams.high)
             : round_to_format(x / scale, qparams.format);
}

Tensor scales_of_log2(const Tensor& logarithms) {
  Tensor result = logarithms.clone();
  for (float& x : result.f32()) {
    x = static_cast<float>(std::exp2(double{x}));
  }
  return result;
}

float scale_of_range(float absmax, int high) {
  if (!std::isfinite(absmax)) {
    throw ValueError("not_finite", "range",
                     fmt::format("must be finite, got {}", absmax));
  }
  if (absmax < 0) {
    throw ValueError("out_of_range", "range",
                     fmt::format("must not be negative, got {}", absmax));
  }
  return absmax >= kSmallestRange ? absmax / static_cast<float>(high) : 1.0f;
}

float absmax(const Tensor& x) {
  float top = 0;
  for (const float v : x.f32()) top = larger_magnitude(top, std::fabs(v));
  return top;
}

Tensor absmax_per_channel(const Tensor& x, int axis) {
  const Channels channels = channels_around(x.shape(), axis);
  Tensor result = Tensor::zeros({channels.count});
  const auto top = result.f32();
  const auto values = x.f32();
  if (channels.inner == 1) {  // weights, in every step: uses a kernel
    const int64_t count = channels.count;
    const int64_t chunks =
        x.size() < kFewValues ? 1 : chunk_count(channels.outer);
    Tensor tops = Tensor::zeros({chunks, count});
    float* of_chunks = tops.f32().data();
    parallel_for(chunks, [&](int64_t chunk) {
      const int64_t first = channels.outer * chunk / chunks;
      const int64_t last = channels.outer * (chunk + 1) / chunks;
      kernels::table().absmax_columns(of_chunks + chunk * count,
                                      values.data() + first * count,
                                      last - first, count);
    });
    kernels::table().absmax_columns(top.data(), of_chunks, chunks, count);
    return result;
  }
  for_each_segment(channels, [&](size_t channel, size_t first, size_t last) {
    for (size_t i = first; i < last; ++i) {
      top[channel] = larger_magnitude(top[channel], std::fabs(values[i]));
    }
  });
  return result;
}

Tensor quantize(const Tensor& x, const QuantParams& qparams) {
  const Channels channels = channels_of(x.shape(), qparams);
  if (qparams.low < -128 || qparams.high > 127) {
    throw ValueError("out_of_range", "quantize",
                     fmt::format("range must be within [-128,127], got [{},{}]",
                                 qparams.low, qparams.high));
  }
  Tensor result(x.shape(), DType::i8);
  const auto codes = result.data<int8_t>();
  const auto values = x.f32();
  const auto scale = qparams.scale.f32();
  bool nan = false;
  for_each_segment(channels, [&](size_t channel, size_t first, size_t last) {
    for (size_t i = first; i < last; ++i) {
      const float q =
          quantize(values[i], scale[channel], qparams.low, qparams.high);
      nan |= std::isnan(q);
      codes[i] = std::isnan(q) ? int8_t{0} : static_cast<int8_t>(q);
    }
  });
  if (nan) throw ValueError("not_finite", "quantize", "input contains NaN");
  return result;
}

Tensor dequantize(const Tensor& codes, const QuantParams& qparams) {
  const Channels channels = channels_of(codes.shape(), qparams);
  Tensor result(codes.shape());
  const auto values = result.f32();
  const auto q = codes.data<int8_t>();
  const auto scale = qparams.scale.f32();
  for_each_segment(channels, [&](size_t channel, size_t first, size_t last) {
    for (size_t i = first; i < last; ++i) {
      values[i] = scale[channel] * static_cast<float>(q[i]);
    }
  });
  return result;
}

OpenInterval straight_through_interval(float scale, int low, int high) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const auto above = [&](float x) {
    return std::nearbyint(x / scale) > static_cast<float>(high);
  };
  const auto below = [&](float x) {
    return std::nearbyint(x / scale) < static_cast<float>(low);
  };
  // Division and rounding are monotone: the bounds are within a few steps of
  // the exact ones.
  float upper = (static_cast<float>(high) + 0.5f) * scale;
  while (!std::isinf(upper) && !above(upper)) {
    upper = std::nextafter(upper, kInfinity);
  }
  while (above(std::nextafter(upper, -kInfinity))) {
    upper = std::nextafter(upper, -kInfinity);
  }
  float lower = (static_cast<float>(low) - 0.5f) * scale;
  while (!std::isinf(lower) && !below(lower)) {
    lower = std::nextafter(lower, -kInfinity);
  }
  while (below(std::nextafter(lower, kInfinity))) {
    lower = std::nextafter(lower, kInfinity);
  }
  return {lower, upper};
}

}  // namespace octet
