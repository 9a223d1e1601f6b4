// GridSample of images. Source: onnx, docs/Operators.md; PyTorch's grid_sample.
#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "onnx/graph/tensors.h"
#include "operators.h"

namespace octet::io::run {
namespace {

enum class Sampling { nearest, linear, cubic };
enum class Outside { zeros, border, reflection };

struct GridMethod {
  Sampling sampling = Sampling::linear;
  Outside outside = Outside::zeros;
  bool align_corners = false;
};

GridMethod grid_method(const NodeContext& context) {
  GridMethod method;
  const std::string mode = context.text("mode", "linear");
  const std::string outside = context.text("padding_mode", "zeros");
  if (mode == "nearest") {
    method.sampling = Sampling::nearest;
  } else if (mode == "cubic" || mode == "bicubic") {
    method.sampling = Sampling::cubic;
  } else if (mode != "linear" && mode != "bilinear") {
    context.unsupported("mode '" + printable(mode) + "' is not supported");
  }
  if (outside == "border") {
    method.outside = Outside::border;
  } else if (outside == "reflection") {
    method.outside = Outside::reflection;
  } else if (outside != "zeros") {
    context.unsupported("padding_mode '" + printable(outside) +
                        "' is not supported");
  }
  if (method.sampling == Sampling::cubic && method.outside != Outside::zeros) {
    context.unsupported("cubic sampling needs padding_mode 'zeros'");
  }
  method.align_corners = context.integer("align_corners", 0) != 0;
  return method;
}

/// Reflects a position at the ends of [low, high].
float reflected(float x, float low, float high) {
  const float range = high - low;
  if (range <= 0) return low;
  const float distance = std::fabs(x - low);
  const float rest = std::fmod(distance, range);
  const bool even = std::fmod(std::floor(distance / range), 2.0f) == 0;
  return even ? low + rest : high - rest;
}

/// Elements of an axis and their weights; outside elements are -1.
struct Taps {
  int count = 0;
  std::array<int64_t, 4> at = {};
  std::array<float, 4> weight = {};
};

/// Weight of an element at a distance. Source: Keys, "Cubic Convolution
/// Interpolation for Digital Image Processing", 1981.
float cubic_weight(float distance) {
  constexpr float a = -0.75f;
  const float x = std::fabs(distance);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

/// Returns the elements for a position from -1 to 1.
Taps taps_at(float position, int64_t length, const GridMethod& method) {
  const auto size = static_cast<float>(length);
  const float low = method.align_corners ? 0 : -0.5f;
  const float high = method.align_corners ? size - 1 : size - 0.5f;
  float x = method.align_corners ? (position + 1) / 2 * (size - 1)
                                 : ((position + 1) * size - 1) / 2;
  if (std::isnan(x)) return {1, {0}, {x}};
  constexpr float kFar = 1e9f;
  x = std::clamp(x, -kFar, kFar);
  if (method.sampling == Sampling::nearest) x = std::nearbyint(x);
  if (method.outside == Outside::border) x = std::clamp(x, 0.0f, size - 1);
  if (method.outside == Outside::reflection && (x < low || x > high)) {
    x = reflected(x, low, high);
  }
  const auto element = [&](float at) -> int64_t {
    if (method.outside == Outside::reflection && (at < low || at > high)) {
      at = reflected(at, low, high);
    }
    if (method.outside != Outside::zeros) at = std::clamp(at, 0.0f, size - 1);
    return at < 0 || at > size - 1 ? -1 : static_cast<int64_t>(at);
  };
  const float first = std::floor(x);
  if (method.sampling == Sampling::nearest) return {1, {element(x)}, {1}};
  if (method.sampling == Sampling::linear) {
    return {
        2, {element(first), element(first + 1)}, {first + 1 - x, x - first}};
  }
  Taps taps{.count = 4};
  for (size_t i = 0; i < 4; ++i) {
    const float at = first - 1 + static_cast<float>(i);
    taps.at[i] = element(at);
    taps.weight[i] = cubic_weight(x - at);
  }
  return taps;
}

float sampled(const float* image, int64_t width, const Taps& rows,
              const Taps& columns) {
  float sum = 0;
  for (size_t i = 0; std::cmp_less(i, rows.count); ++i) {
    for (size_t j = 0; std::cmp_less(j, columns.count); ++j) {
      const float weight = rows.weight[i] * columns.weight[j];
      const bool outside = rows.at[i] < 0 || columns.at[j] < 0;
      sum += outside ? 0 : weight * image[rows.at[i] * width + columns.at[j]];
    }
  }
  return sum;
}

}  // namespace

Values grid_sample(const NodeContext& context) {
  const Tensor& x = context.input(0);
  const Tensor& grid = context.input(1);
  const Shape& in = x.shape();
  const Shape& out = grid.shape();
  if (in.rank() == 5) context.unsupported("volumes are not supported");
  if (in.rank() != 4 || out.rank() != 4 || in[0] != out[0] || out[3] != 2) {
    context.refuse(
        fmt::format("inputs must be images [n,c,h,w] and a grid [n,h,w,2], got "
                    "{} and {}",
                    in.to_string(), out.to_string()));
  }
  if (in[2] < 1 || in[3] < 1) context.refuse("images must not be empty");
  const GridMethod method = grid_method(context);
  Tensor y = context.make({in[0], in[1], out[1], out[2]}, DType::f32);
  const int64_t pixels = out[1] * out[2];
  const int64_t plane = in[2] * in[3];
  const float* from = x.f32().data();
  const float* places = grid.f32().data();
  for (int64_t n = 0; n < in[0]; ++n) {
    context.check_time();
    for (int64_t i = 0; i < pixels; ++i) {
      const float* place = places + (n * pixels + i) * 2;
      const Taps columns = taps_at(place[0], in[3], method);
      const Taps rows = taps_at(place[1], in[2], method);
      for (int64_t c = n * in[1]; c < (n + 1) * in[1]; ++c) {
        y.f32()[static_cast<size_t>(c * pixels + i)] =
            sampled(from + c * plane, in[3], rows, columns);
      }
    }
  }
  return {y};
}

}  // namespace octet::io::run
