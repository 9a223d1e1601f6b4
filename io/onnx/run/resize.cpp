// Resize and Upsample, one axis after the other.
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "../tensors.h"
#include "operators.h"

namespace octet::io::run {
namespace {

constexpr int64_t kModes = 11;           // the opset of Resize's attributes
constexpr int64_t kScalesAsInput = 9;    // of Upsample
constexpr int64_t kScalesAttribute = 7;  // before, there were two

// Where an output lies on the axis of the input.
using Coordinate = float (*)(int64_t o, float scale, int64_t in, int64_t out);

float half_pixel(int64_t o, float scale, int64_t, int64_t) {
  return (static_cast<float>(o) + 0.5f) / scale - 0.5f;
}
float pytorch_half_pixel(int64_t o, float scale, int64_t in, int64_t out) {
  return out > 1 ? half_pixel(o, scale, in, out) : 0;
}
float align_corners(int64_t o, float, int64_t in, int64_t out) {
  return out > 1 ? static_cast<float>(o) * static_cast<float>(in - 1) /
                       static_cast<float>(out - 1)
                 : 0;
}
float asymmetric(int64_t o, float scale, int64_t, int64_t) {
  return static_cast<float>(o) / scale;
}
float tf_half_pixel_for_nn(int64_t o, float scale, int64_t, int64_t) {
  return (static_cast<float>(o) + 0.5f) / scale;
}

using Round = float (*)(float);
float prefer_floor(float x) { return std::ceil(x - 0.5f); }
float prefer_ceil(float x) { return std::floor(x + 0.5f); }
float down(float x) { return std::floor(x); }
float up(float x) { return std::ceil(x); }

template <class T, size_t N>
T choice(const NodeContext& context, const std::string& word,
         const std::array<std::pair<const char*, T>, N>& choices) {
  for (const auto& [name, value] : choices) {
    if (name == word) return value;
  }
  context.unsupported("expected nearest or linear without cropping, got '" +
                      printable(word) + "'");
}

struct Method {
  bool linear = false;
  Coordinate coordinate = asymmetric;
  Round round = down;
};

Method method_of(const NodeContext& context) {
  Method method;
  method.linear = choice<bool, 3>(
      context, context.text("mode", "nearest"),
      {{{"nearest", false}, {"linear", true}, {"bilinear", true}}});
  if (context.opset() < kModes) return method;
  method.coordinate = choice<Coordinate, 5>(
      context, context.text("coordinate_transformation_mode", "half_pixel"),
      {{{"half_pixel", half_pixel},
        {"pytorch_half_pixel", pytorch_half_pixel},
        {"align_corners", align_corners},
        {"asymmetric", asymmetric},
        {"tf_half_pixel_for_nn", tf_half_pixel_for_nn}}});
  method.round = choice<Round, 4>(
      context, context.text("nearest_mode", "round_prefer_floor"),
      {{{"round_prefer_floor", prefer_floor},
        {"round_prefer_ceil", prefer_ceil},
        {"floor", down},
        {"ceil", up}}});
  return method;
}

// An output is (1 - weight) * x[low] + weight * x[high].
struct Blend {
  int64_t low = 0;
  int64_t high = 0;
  float weight = 0;
};

// A position within [0, in - 1].
int64_t on_axis(float position, int64_t in) {
  const auto bounded = std::clamp(position, 0.0f, 4e9f);
  return std::min(static_cast<int64_t>(bounded), in - 1);
}

Blend blend_of(const Method& method, int64_t o, float scale, int64_t in,
               int64_t out) {
  const float x = method.coordinate(o, scale, in, out);
  Blend blend;
  if (!method.linear) {
    blend.low = blend.high = on_axis(method.round(x), in);
    return blend;
  }
  const float inside = std::clamp(x, 0.0f, static_cast<float>(in - 1));
  blend.low = on_axis(inside, in);
  blend.high = std::min(blend.low + 1, in - 1);
  blend.weight = inside - static_cast<float>(blend.low);
  return blend;
}

template <class T>
T blended(T low, T high, float weight) {
  if constexpr (std::is_same_v<T, float>) {
    return weight == 0 ? low : (1 - weight) * low + weight * high;
  } else {
    return low;
  }
}

// x with another size of one axis.
Tensor resized(const NodeContext& context, const Tensor& x, int axis,
               float scale, int64_t out, Method method) {
  // Opset 10 does not say; its conformance test takes the next one.
  if (context.opset() < kModes && scale < 1) method.round = up;
  const int64_t in = x.shape()[axis];
  Dims dims = dims_of(x);
  dims[static_cast<size_t>(axis)] = out;
  Tensor y = context.make(dims, x.dtype());
  if (y.size() == 0) return y;
  if (in == 0) {
    context.refuse("expected cells to resize, got " + x.shape().to_string());
  }
  if (method.linear && x.dtype() != DType::f32) context.refuse_type(x.dtype());
  const int64_t outer = x.shape().slice(0, axis).size();
  const int64_t inner = x.shape().slice(axis + 1, x.shape().rank()).size();
  visit_any(context, x.dtype(), [&]<class T>(T) {
    const T* from = x.data<T>().data();
    T* to = y.data<T>().data();
    for (int64_t o = 0; o < out; ++o) {
      const Blend blend = blend_of(method, o, scale, in, out);
      for (int64_t n = 0; n < outer; ++n) {
        const T* low = from + (n * in + blend.low) * inner;
        const T* high = from + (n * in + blend.high) * inner;
        T* row = to + (n * out + o) * inner;
        for (int64_t i = 0; i < inner; ++i) {
          row[i] = blended(low[i], high[i], blend.weight);
        }
      }
    }
  });
  return y;
}

Values resized_by(const NodeContext& context, const std::vector<float>& scales,
                  const Method& method) {
  Tensor y = context.input(0);
  const int rank = y.shape().rank();
  if (static_cast<int>(scales.size()) != rank) {
    context.refuse(fmt::format("expected {} scales for {}, got {}", rank,
                               y.shape().to_string(), scales.size()));
  }
  for (int axis = 0; axis < rank; ++axis) {
    const float scale = scales[static_cast<size_t>(axis)];
    const float out = std::floor(static_cast<float>(y.shape()[axis]) * scale);
    if (!(scale > 0) || !(out < static_cast<float>(kMostBytes))) {
      context.refuse(
          fmt::format("expected scales > 0 and a size in memory, "
                      "got {} for {}",
                      scale, y.shape().to_string()));
    }
    if (scale == 1) continue;
    y = resized(context, y, axis, scale, static_cast<int64_t>(out), method);
  }
  return {y};
}

Values resized_to(const NodeContext& context, const Dims& sizes,
                  const Method& method) {
  Tensor y = context.input(0);
  if (sizes.size() != dims_of(y).size()) {
    context.refuse(fmt::format("expected {} sizes for {}, got {}",
                               y.shape().rank(), y.shape().to_string(),
                               dims_text(sizes)));
  }
  for (int axis = 0; axis < y.shape().rank(); ++axis) {
    const int64_t out = sizes[static_cast<size_t>(axis)];
    const int64_t in = y.shape()[axis];
    if (out == in) continue;
    const float scale = static_cast<float>(out) / static_cast<float>(in);
    y = resized(context, y, axis, scale, out, method);
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
  if (context.opset() < kModes) {
    return resized_by(context, scales_of(context, 1), method);
  }
  const auto given = [&](size_t i) {
    return context.has_input(i) && context.input(i).size() > 0;
  };
  if (given(2) == given(3)) {
    context.refuse("expected either scales or sizes, got both or none");
  }
  return given(2) ? resized_by(context, scales_of(context, 2), method)
                  : resized_to(context, context.integers_of(3), method);
}

Values upsample(const NodeContext& context) {
  if (context.opset() < kScalesAttribute) {
    context.unsupported(fmt::format("expected opset {} or newer, got {}",
                                    kScalesAttribute, context.opset()));
  }
  return resized_by(context,
                    context.opset() < kScalesAsInput ? context.numbers("scales")
                                                     : scales_of(context, 1),
                    method_of(context));
}

}  // namespace octet::io::run
