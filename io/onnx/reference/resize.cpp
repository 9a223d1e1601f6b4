// Resize, axis by axis: each output is a weighted sum of a few
// inputs.
#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "onnx/graph/tensors.h"
#include "operators.h"

namespace octet::io::run {
namespace {

// Old and new size of an axis.
struct ResizedAxis {
  int64_t in = 0;
  int64_t out = 0;
  float scale = 1;
  float start = 0, end = 1;  // region of interest, as fractions of the axis
};

// Position of an output on the axis of the input.
using Coordinate = float (*)(int64_t o, const ResizedAxis& a);

float half_pixel(int64_t o, const ResizedAxis& a) {
  return (static_cast<float>(o) + 0.5f) / a.scale - 0.5f;
}
float half_pixel_symmetric(int64_t o, const ResizedAxis& a) {
  // Splits the remainder of the rounded size evenly.
  const float in = static_cast<float>(a.in);
  const float part = static_cast<float>(a.out) / (a.scale * in);
  return in / 2 * (1 - part) + half_pixel(o, a);
}
float pytorch_half_pixel(int64_t o, const ResizedAxis& a) {
  return a.out > 1 ? half_pixel(o, a) : 0;
}
float align_corners(int64_t o, const ResizedAxis& a) {
  return a.out > 1 ? static_cast<float>(o) * static_cast<float>(a.in - 1) /
                         static_cast<float>(a.out - 1)
                   : 0;
}
float asymmetric(int64_t o, const ResizedAxis& a) {
  return static_cast<float>(o) / a.scale;
}
float tf_half_pixel_for_nn(int64_t o, const ResizedAxis& a) {
  return (static_cast<float>(o) + 0.5f) / a.scale;
}
float tf_crop_and_resize(int64_t o, const ResizedAxis& a) {
  const float last = static_cast<float>(a.in - 1);
  if (a.out <= 1) return 0.5f * (a.start + a.end) * last;
  return a.start * last + static_cast<float>(o) * (a.end - a.start) * last /
                              static_cast<float>(a.out - 1);
}

using Round = float (*)(float);
float prefer_floor(float x) { return std::ceil(x - 0.5f); }
float prefer_ceil(float x) { return std::floor(x + 0.5f); }
float down(float x) { return std::floor(x); }
float up(float x) { return std::ceil(x); }

enum class Curve { nearest, linear, cubic };

template <class T, size_t N>
T choice(const NodeContext& context, const std::string& word,
         const std::array<std::pair<const char*, T>, N>& choices) {
  for (const auto& [name, value] : choices) {
    if (name == word) return value;
  }
  context.unsupported("resizing by '" + printable(word) + "' is not supported");
}

struct Method {
  Curve curve = Curve::nearest;
  Coordinate coordinate = asymmetric;
  Round round = down;
  float cubic = -0.75f;          // coefficient of the cubic
  bool antialias = false;        // wider filter when shrinking
  bool exclude_outside = false;  // normalizes weights within the axis
  float outside = 0;             // value outside the tensor
};

Method method_of(const NodeContext& context) {
  Method method;
  method.curve = choice<Curve, 3>(context, context.text("mode", "nearest"),
                                  {{{"nearest", Curve::nearest},
                                    {"linear", Curve::linear},
                                    {"cubic", Curve::cubic}}});
  method.coordinate = choice<Coordinate, 7>(
      context, context.text("coordinate_transformation_mode", "half_pixel"),
      {{{"half_pixel", half_pixel},
        {"half_pixel_symmetric", half_pixel_symmetric},
        {"pytorch_half_pixel", pytorch_half_pixel},
        {"align_corners", align_corners},
        {"asymmetric", asymmetric},
        {"tf_half_pixel_for_nn", tf_half_pixel_for_nn},
        {"tf_crop_and_resize", tf_crop_and_resize}}});
  method.round = choice<Round, 4>(
      context, context.text("nearest_mode", "round_prefer_floor"),
      {{{"round_prefer_floor", prefer_floor},
        {"round_prefer_ceil", prefer_ceil},
        {"floor", down},
        {"ceil", up}}});
  method.cubic = context.number("cubic_coeff_a", -0.75f);
  method.antialias = context.integer("antialias", 0) != 0;
  method.exclude_outside = context.integer("exclude_outside", 0) != 0;
  method.outside = context.number("extrapolation_value", 0);
  return method;
}

bool crops(const Method& method) {
  return method.coordinate == tf_crop_and_resize;
}

// Weight of an input at a distance. Source: Keys, "Cubic Convolution
// Interpolation for Digital Image Processing", 1981.
float weight_at(const Method& method, float distance) {
  const float x = std::fabs(distance), a = method.cubic;
  if (method.curve == Curve::linear) return std::max(0.0f, 1 - x);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? a * (((x - 5) * x + 8) * x - 4) : 0;
}

// A term weight * x[index] of an output.
struct Tap {
  int64_t index = 0;
  float weight = 1;
};

int64_t on_axis(float position, int64_t in) {
  const auto bounded = std::clamp(position, 0.0f, 4e9f);
  return std::min(static_cast<int64_t>(bounded), in - 1);
}

// Returns no taps for outputs outside the axis that get a constant value.
std::vector<Tap> taps_of(const NodeContext& context, const Method& method,
                         int64_t o, const ResizedAxis& axis) {
  const float last = static_cast<float>(axis.in - 1);
  const float x = method.coordinate(o, axis);
  if (!std::isfinite(x)) {
    context.refuse("scales and regions must be finite");
  }
  if (crops(method) && (x < 0 || x > last)) return {};
  if (method.curve == Curve::nearest) {
    return {{on_axis(method.round(x), axis.in), 1.0f}};
  }
  // Farther away, only the outermost input has a weight.
  const float position = std::clamp(x, -4.0f, last + 4);
  const float stretch = method.antialias ? std::min(axis.scale, 1.0f) : 1.0f;
  const float reach = (method.curve == Curve::linear ? 1.0f : 2.0f) / stretch;
  const auto first = static_cast<int64_t>(std::floor(position - reach)) + 1;
  const auto end = static_cast<int64_t>(std::ceil(position + reach));
  std::vector<Tap> taps;
  float sum = 0;
  for (int64_t i = first; i < end; ++i) {
    const bool outside = i < 0 || i >= axis.in;
    if (outside && method.exclude_outside) continue;
    const float weight =
        weight_at(method, (static_cast<float>(i) - position) * stretch);
    taps.push_back({std::clamp<int64_t>(i, 0, axis.in - 1), weight});
    sum += weight;
  }
  if (method.antialias || method.exclude_outside) {
    for (Tap& tap : taps) tap.weight /= sum;
  }
  return taps;
}

template <class T>
void add_row(const T* from, const std::vector<Tap>& taps, int64_t inner,
             T outside, T* row) {
  if (taps.empty()) {
    std::fill_n(row, inner, outside);
    return;
  }
  for (int64_t i = 0; i < inner; ++i) {
    if constexpr (std::is_same_v<T, float>) {
      float sum = 0;
      for (const Tap& tap : taps) {
        if (tap.weight != 0) sum += tap.weight * from[tap.index * inner + i];
      }
      row[i] = sum;
    } else {
      row[i] = from[taps[0].index * inner + i];
    }
  }
}

// Resizes an axis of x.
Tensor resized(const NodeContext& context, const Tensor& x, int at,
               ResizedAxis axis, const Method& method) {
  axis.in = x.shape()[at];
  Sizes dims = sizes_of(x);
  dims[static_cast<size_t>(at)] = axis.out;
  Tensor y = context.make(dims, x.dtype());
  if (y.size() == 0) return y;
  if (axis.in == 0) {
    context.refuse("input must not be empty, got " + x.shape().to_string());
  }
  if (method.curve != Curve::nearest && x.dtype() != DType::f32) {
    context.refuse_type(x.dtype());
  }
  const int64_t outer = x.shape().slice(0, at).size();
  const int64_t inner = x.shape().slice(at + 1, x.shape().rank()).size();
  visit_any(context, x.dtype(), [&]<class T>(T) {
    const T* from = x.data<T>().data();
    T* to = y.data<T>().data();
    for (int64_t o = 0; o < axis.out; ++o) {
      const auto taps = taps_of(context, method, o, axis);
      for (int64_t n = 0; n < outer; ++n) {
        add_row(from + n * axis.in * inner, taps, inner,
                static_cast<T>(method.outside),
                to + (n * axis.out + o) * inner);
      }
    }
  });
  return y;
}

// Returns the axes of scales, sizes and regions.
std::vector<int> resized_axes(const NodeContext& context, const Tensor& x) {
  Sizes all(sizes_of(x).size());
  std::iota(all.begin(), all.end(), 0);
  std::vector<int> axes;
  for (const int64_t axis : context.integers("axes", all)) {
    axes.push_back(context.axis(axis, x.shape().rank()));
  }
  return axes;
}

int64_t size_by(const NodeContext& context, const Tensor& x, int axis,
                float scale) {
  const float out = std::floor(static_cast<float>(x.shape()[axis]) * scale);
  if (!(scale > 0) || !(out < static_cast<float>(kMostBytes))) {
    context.refuse(
        fmt::format("scale must be > 0 and the size fit memory, got {} for {}",
                    scale, x.shape().to_string()));
  }
  return static_cast<int64_t>(out);
}

// Returns the new size of each of `axes`.
std::vector<ResizedAxis> by_scales(const NodeContext& context,
                                   const std::vector<float>& scales,
                                   const std::vector<int>& axes) {
  const Tensor& x = context.input(0);
  if (scales.size() != axes.size()) {
    context.refuse(fmt::format("must have {} scales for {}, got {}",
                               axes.size(), x.shape().to_string(),
                               scales.size()));
  }
  std::vector<ResizedAxis> result;
  for (size_t i = 0; i < axes.size(); ++i) {
    ResizedAxis axis;
    axis.out = size_by(context, x, axes[i], scales[i]);
    axis.scale = scales[i];
    result.push_back(axis);
  }
  return result;
}

std::vector<ResizedAxis> by_sizes(const NodeContext& context,
                                  const Sizes& sizes,
                                  const std::vector<int>& axes) {
  const Tensor& x = context.input(0);
  if (sizes.size() != axes.size()) {
    context.refuse(fmt::format("must have {} sizes for {}, got {}", axes.size(),
                               x.shape().to_string(), dims_text(sizes)));
  }
  std::vector<ResizedAxis> result;
  for (size_t i = 0; i < axes.size(); ++i) {
    ResizedAxis axis;
    axis.out = sizes[i];
    axis.scale =
        static_cast<float>(sizes[i]) / static_cast<float>(x.shape()[axes[i]]);
    result.push_back(axis);
  }
  const std::string policy =
      context.text("keep_aspect_ratio_policy", "stretch");
  if (policy == "stretch" || result.empty()) return result;
  // A common scale with which no axis is larger, or none smaller.
  if (policy != "not_larger" && policy != "not_smaller") {
    context.refuse(
        "keep_aspect_ratio_policy must be stretch, not_larger or not_smaller, "
        "got '" +
        printable(policy) + "'");
  }
  const auto by_scale = [](const ResizedAxis& a, const ResizedAxis& b) {
    return a.scale < b.scale;
  };
  const auto [least, most] =
      std::minmax_element(result.begin(), result.end(), by_scale);
  const float scale = policy == "not_larger" ? least->scale : most->scale;
  for (size_t i = 0; i < axes.size(); ++i) {
    const float size = static_cast<float>(x.shape()[axes[i]]) * scale;
    if (!(size >= 0 && size < static_cast<float>(kMostBytes))) {
      context.refuse("sizes must fit memory, got " + dims_text(sizes));
    }
    result[i].out = static_cast<int64_t>(std::floor(size + 0.5f));
    result[i].scale = scale;
  }
  return result;
}

// Input 1 contains the starts of the region for all axes, then the ends.
void add_regions(const NodeContext& context, std::vector<ResizedAxis>& axes) {
  const auto region = context.input(1).f32();
  if (region.size() != 2 * axes.size()) {
    context.refuse(fmt::format("region must have {} bounds, got {}",
                               2 * axes.size(), region.size()));
  }
  for (size_t i = 0; i < axes.size(); ++i) {
    axes[i].start = region[i];
    axes[i].end = region[i + axes.size()];
  }
}

Values resized(const NodeContext& context, const std::vector<int>& at,
               const std::vector<ResizedAxis>& axes, const Method& method) {
  Tensor y = context.input(0);
  for (size_t i = 0; i < at.size(); ++i) {
    const bool same = axes[i].out == y.shape()[at[i]] && axes[i].scale == 1;
    if (same && !crops(method)) continue;
    y = resized(context, y, at[i], axes[i], method);
  }
  return {y};
}

std::vector<float> scales_of(const NodeContext& context, size_t i) {
  const auto scales = context.input(i).f32();
  return {scales.begin(), scales.end()};
}

}  // namespace

Values resize(const NodeContext& context) {
  const Method method = method_of(context);
  const std::vector<int> at = resized_axes(context, context.input(0));
  const auto given = [&](size_t i) {
    return context.has_input(i) && context.input(i).size() > 0;
  };
  if (given(2) == given(3)) {
    context.refuse("must have either scales or sizes");
  }
  std::vector<ResizedAxis> axes =
      given(2) ? by_scales(context, scales_of(context, 2), at)
               : by_sizes(context, context.integers_of(3), at);
  if (crops(method)) add_regions(context, axes);
  return resized(context, at, axes, method);
}

}  // namespace octet::io::run
