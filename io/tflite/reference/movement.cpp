// Operators that move or select values, and resizing.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <vector>

#include <fmt/format.h>

#include "node.h"

namespace octet::io::tflite {
namespace {

[[noreturn]] void refuse_node(const Node& node, const std::string& problem) {
  throw FormatError("invalid_file", node.name, problem);
}

// Copies elements of any type: output element i is input element from(i), or
// `fill` for a negative one.
template <class From>
Tensor gathered(const Tensor& x, const Shape& shape, const From& from,
                const char* fill = nullptr) {
  Tensor y = Tensor::zeros(shape, x.dtype());
  const auto width = static_cast<size_t>(size_of(x.dtype()));
  const auto* source = static_cast<const char*>(x.raw());
  auto* target = static_cast<char*>(y.raw());
  for (int64_t i = 0; i < y.size(); ++i) {
    const int64_t place = from(i);
    const char* value =
        place < 0 ? fill : source + static_cast<size_t>(place) * width;
    std::copy_n(value, width, target + static_cast<size_t>(i) * width);
  }
  return y;
}

// Indices of an element of the shape, in memory order.
std::vector<int64_t> indices(int64_t element, const Shape& shape) {
  std::vector<int64_t> result(static_cast<size_t>(shape.rank()));
  for (int axis = shape.rank(); axis-- > 0;) {
    result[static_cast<size_t>(axis)] = element % shape[axis];
    element /= shape[axis];
  }
  return result;
}

int64_t element(const std::vector<int64_t>& index, const Shape& shape) {
  int64_t place = 0;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    place = place * shape[axis] + index[static_cast<size_t>(axis)];
  }
  return place;
}

Shape shape_of(const std::vector<int64_t>& sizes) {
  return Shape(std::span<const int64_t>(sizes));
}

}  // namespace

Tensor run_reshape(const Node& node) {
  const Tensor& x = node.input(0);
  std::vector<int64_t> sizes;
  if (node.has_input(1)) {
    const auto list = node.input(1).data<int32_t>();
    sizes.assign(list.begin(), list.end());
  } else {
    const auto& list = node.options<schema::ReshapeOptionsT>().new_shape;
    sizes.assign(list.begin(), list.end());
  }
  int64_t known = 1;
  int64_t* open = nullptr;
  bool fits = true;
  for (int64_t& size : sizes) {
    if (size == -1 && open == nullptr) {
      open = &size;
    } else {
      fits = fits && size >= 1 && size <= x.size() / known;
      if (fits) known *= size;
    }
  }
  if (open != nullptr) *open = x.size() / known;
  const Shape shape = shape_of(sizes);
  if (!fits || shape.size() != x.size()) {
    refuse_node(node, fmt::format("{} does not fit {}", x.shape().to_string(),
                                  shape.to_string()));
  }
  return x.reshaped(shape);
}

Tensor run_concatenation(const Node& node) {
  const auto& o = node.options<schema::ConcatenationOptionsT>();
  const Shape& first = node.input(0).shape();
  const int axis = o.axis < 0 ? o.axis + first.rank() : o.axis;
  if (axis < 0 || axis >= first.rank()) refuse_node(node, "invalid axis");
  int64_t total = 0;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const Shape& s = node.input(i).shape();
    if (s.rank() != first.rank() || s.with(axis, 1) != first.with(axis, 1)) {
      refuse_node(node, fmt::format("{} and {} do not fit", first.to_string(),
                                    s.to_string()));
    }
    if (node.quant(i).scale != node.output_quant().scale ||
        node.quant(i).zero_point != node.output_quant().zero_point) {
      throw UnsupportedError("unsupported_value", node.name,
                             "inputs and output have different scales");
    }
    total += s[axis];
  }
  Tensor y = Tensor::zeros(first.with(axis, total), node.input(0).dtype());
  const auto width = size_of(y.dtype());
  const int64_t inner = first.slice(axis + 1, first.rank()).size() * width;
  const int64_t outer = first.slice(0, axis).size();
  auto* to = static_cast<char*>(y.raw());
  int64_t before = 0;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    const Tensor& x = node.input(i);
    const int64_t part = x.shape()[axis] * inner;
    for (int64_t n = 0; n < outer; ++n) {
      std::copy_n(static_cast<const char*>(x.raw()) + n * part, part,
                  to + n * total * inner + before);
    }
    before += part;
  }
  return y;
}

Tensor run_pad(const Node& node) {
  const Tensor& x = node.input(0);
  const auto pads = node.input(1).data<int32_t>();
  const Shape& s = x.shape();
  if (std::ssize(pads) != 2 * s.rank()) refuse_node(node, "invalid padding");
  std::vector<int64_t> sizes;
  for (int axis = 0; axis < s.rank(); ++axis) {
    const auto i = static_cast<size_t>(2 * axis);
    if (pads[i] < 0 || pads[i + 1] < 0) refuse_node(node, "invalid padding");
    sizes.push_back(pads[i] + s[axis] + pads[i + 1]);
  }
  // PAD fills with zero, PADV2 with input 2.
  // The first bytes of a little-endian integer are its value in any width.
  const int32_t zero = node.quant(0).zero_point;
  const float float_zero = 0;
  const char* fill =
      node.has_input(2)  ? static_cast<const char*>(node.input(2).raw())
      : node.quantized() ? reinterpret_cast<const char*>(&zero)
                         : reinterpret_cast<const char*>(&float_zero);
  const Shape shape = shape_of(sizes);
  node.expect_size(shape);
  return gathered(
      x, shape,
      [&](int64_t i) {
        std::vector<int64_t> index = indices(i, shape);
        for (int axis = 0; axis < s.rank(); ++axis) {
          int64_t& at = index[static_cast<size_t>(axis)];
          at -= pads[static_cast<size_t>(2 * axis)];
          if (at < 0 || at >= s[axis]) return int64_t{-1};
        }
        return element(index, s);
      },
      fill);
}

Tensor run_transpose(const Node& node) {
  std::vector<int> order;
  for (const int32_t axis : node.input(1).data<int32_t>()) {
    order.push_back(axis);
  }
  return node.input(0).transposed(order);
}

Tensor run_strided_slice(const Node& node) {
  const auto& o = node.options<schema::StridedSliceOptionsT>();
  const Tensor& x = node.input(0);
  const Shape& s = x.shape();
  const auto begin = node.input(1).data<int32_t>();
  const auto end = node.input(2).data<int32_t>();
  const auto step = node.input(3).data<int32_t>();
  if (o.ellipsis_mask != 0 || o.new_axis_mask != 0 || o.offset ||
      std::ssize(begin) != s.rank() || begin.size() != end.size() ||
      begin.size() != step.size()) {
    throw UnsupportedError("unsupported_value", node.name,
                           "only begin, end and shrink masks are supported");
  }
  std::vector<int64_t> first, sizes, kept;
  for (int axis = 0; axis < s.rank(); ++axis) {
    const auto i = static_cast<size_t>(axis);
    const int bit = 1 << axis;
    if (step[i] == 0) refuse_node(node, "strides must not be 0");
    const bool back = step[i] < 0;
    // The position before the first entry ends a slice backwards.
    const int64_t low = back ? -1 : 0, high = low + s[axis];
    const auto place = [&](int32_t at) {
      return std::clamp<int64_t>(at < 0 ? at + s[axis] : at, low, high);
    };
    const bool open = (o.begin_mask & bit) != 0;
    const int64_t from = !open ? place(begin[i]) : back ? high : low;
    const bool shrinks = (o.shrink_axis_mask & bit) != 0;
    if (from < 0 || from >= s[axis]) refuse_node(node, "the slice is empty");
    const int64_t to = (o.end_mask & bit) == 0 ? place(end[i])
                       : back                  ? low
                                               : high;
    const int64_t extent = back ? from - to : to - from;
    const int64_t each = std::abs(int64_t{step[i]});
    first.push_back(from);
    sizes.push_back(shrinks ? 1
                            : std::max<int64_t>((extent + each - 1) / each, 0));
    if (!shrinks) kept.push_back(sizes.back());
  }
  const Shape full = shape_of(sizes);
  if (full.size() == 0) refuse_node(node, "the slice is empty");
  return gathered(x, full,
                  [&](int64_t i) {
                    std::vector<int64_t> index = indices(i, full);
                    for (size_t axis = 0; axis < index.size(); ++axis) {
                      index[axis] = first[axis] + index[axis] * step[axis];
                    }
                    return element(index, s);
                  })
      .reshaped(shape_of(kept));
}

// Selects `indices` along an axis.
static Tensor selected(const Node& node, const Tensor& x, int axis,
                       const std::vector<int64_t>& places) {
  const Shape shape = x.shape().with(axis, std::ssize(places));
  node.expect_size(shape);
  return gathered(x, shape, [&](int64_t i) {
    std::vector<int64_t> index = indices(i, shape);
    int64_t& at = index[static_cast<size_t>(axis)];
    at = places[static_cast<size_t>(at)];
    return element(index, x.shape());
  });
}

static int checked_axis(const Node& node, int64_t axis, const Shape& x) {
  const int64_t place = axis < 0 ? axis + x.rank() : axis;
  if (place >= 0 && place < x.rank()) return static_cast<int>(place);
  refuse_node(node, fmt::format("axis {} of {}", axis, x.to_string()));
}

Tensor run_split(const Node& node) {
  const Tensor& x = node.input(1);
  const auto list = node.input(0).data<int32_t>();
  if (list.size() != 1) refuse_node(node, "invalid axis");
  const int axis = checked_axis(node, list[0], x.shape());
  const auto count = static_cast<int64_t>(node.op.outputs.size());
  const int64_t size = x.shape()[axis] / count;
  if (size * count != x.shape()[axis]) {
    refuse_node(node, fmt::format("{} parts of axis {} of {}", count, axis,
                                  x.shape().to_string()));
  }
  std::vector<int64_t> places;
  for (int64_t i = 0; i < size; ++i) {
    places.push_back(static_cast<int64_t>(node.output_index) * size + i);
  }
  return selected(node, x, axis, places);
}

Tensor run_gather(const Node& node) {
  const auto& o = node.options<schema::GatherOptionsT>();
  const Tensor& x = node.input(0);
  const Shape& list = node.input(1).shape();
  if (o.batch_dims != 0 || list.rank() > 1) {
    throw UnsupportedError(
        "unsupported_value", node.name,
        "indices must have one axis, without batch dimensions");
  }
  const int axis = checked_axis(node, o.axis, x.shape());
  std::vector<int64_t> places;
  for (const int32_t place : node.input(1).data<int32_t>()) {
    if (place < 0 || place >= x.shape()[axis]) {
      refuse_node(node, fmt::format("index {} of axis {} of {}", place, axis,
                                    x.shape().to_string()));
    }
    places.push_back(place);
  }
  const Tensor y = selected(node, x, axis, places);
  if (list.rank() == 1) return y;
  std::vector<int64_t> sizes(y.shape().dims().begin(), y.shape().dims().end());
  sizes.erase(sizes.begin() + axis);
  return y.reshaped(shape_of(sizes));
}

namespace {

Shape resized_shape(const Node& node) {
  const Shape& s = node.input(0).shape();
  const auto size = node.input(1).data<int32_t>();
  if (s.rank() != 4 || size.size() != 2 || size[0] < 1 || size[1] < 1) {
    refuse_node(node, "invalid size");
  }
  const Shape shape{s[0], size[0], size[1], s[3]};
  node.expect_size(shape);
  return shape;
}

// Interpolation along an axis with 10 fractional bits.
struct Between {
  int64_t position, lower, upper;
};
Between between(int64_t at, int64_t input, int64_t output,
                const schema::ResizeBilinearOptionsT& o) {
  constexpr int64_t kUnit = 1 << 10;
  int64_t scale = (kUnit * input + output / 2) / output;
  if (o.align_corners && output > 1) {
    scale = (kUnit * (input - 1) + (output - 1) / 2) / (output - 1);
  }
  const int64_t position =
      o.half_pixel_centers ? at * scale + scale / 2 - kUnit / 2 : at * scale;
  return {position, std::max<int64_t>(position / kUnit, 0),
          std::min((position + kUnit - 1) / kUnit, input - 1)};
}

struct FloatBetween {
  float position;
  int64_t lower, upper;
};
FloatBetween float_between(int64_t at, int64_t input, int64_t output,
                           const schema::ResizeBilinearOptionsT& o) {
  float scale = static_cast<float>(input) / static_cast<float>(output);
  if (o.align_corners && output > 1) {
    scale = static_cast<float>(input - 1) / static_cast<float>(output - 1);
  }
  const auto place = static_cast<float>(at);
  const float position =
      o.half_pixel_centers ? (place + 0.5f) * scale - 0.5f : place * scale;
  const float low = std::floor(position);
  return {position, std::max<int64_t>(static_cast<int64_t>(low), 0),
          std::min(static_cast<int64_t>(std::ceil(position)), input - 1)};
}

}  // namespace

Tensor run_resize_nearest(const Node& node) {
  const auto& o = node.options<schema::ResizeNearestNeighborOptionsT>();
  const Tensor& x = node.input(0);
  const Shape& s = x.shape();
  const Shape shape = resized_shape(node);
  const auto nearest = [&](int64_t at, int64_t input, int64_t output) {
    float scale = static_cast<float>(input) / static_cast<float>(output);
    if (o.align_corners && output > 1) {
      scale = static_cast<float>(input - 1) / static_cast<float>(output - 1);
    }
    const float offset = o.half_pixel_centers ? 0.5f : 0.0f;
    const float place = (static_cast<float>(at) + offset) * scale;
    const float whole = o.align_corners ? std::round(place) : std::floor(place);
    return std::clamp<int64_t>(static_cast<int64_t>(whole), 0, input - 1);
  };
  return gathered(x, shape, [&](int64_t i) {
    std::vector<int64_t> index = indices(i, shape);
    index[1] = nearest(index[1], s[1], shape[1]);
    index[2] = nearest(index[2], s[2], shape[2]);
    return element(index, s);
  });
}

Tensor run_resize_bilinear(const Node& node) {
  node.expect_int8();
  const auto& o = node.options<schema::ResizeBilinearOptionsT>();
  const Tensor& x = node.input(0);
  const Shape& s = x.shape();
  const Shape shape = resized_shape(node);
  Tensor y = Tensor::zeros(shape, x.dtype());
  const auto at = [&](int64_t n, int64_t row, int64_t column, int64_t c) {
    return static_cast<size_t>(((n * s[1] + row) * s[2] + column) * s[3] + c);
  };
  for (int64_t i = 0; i < y.size(); ++i) {
    const std::vector<int64_t> index = indices(i, shape);
    const int64_t n = index[0], c = index[3];
    if (!node.quantized()) {
      const FloatBetween r = float_between(index[1], s[1], shape[1], o);
      const FloatBetween k = float_between(index[2], s[2], shape[2], o);
      const float down = r.position - static_cast<float>(r.lower);
      const float right = k.position - static_cast<float>(k.lower);
      const auto v = x.f32();
      y.f32()[static_cast<size_t>(i)] =
          v[at(n, r.lower, k.lower, c)] * (1 - down) * (1 - right) +
          v[at(n, r.upper, k.lower, c)] * down * (1 - right) +
          v[at(n, r.lower, k.upper, c)] * (1 - down) * right +
          v[at(n, r.upper, k.upper, c)] * down * right;
      continue;
    }
    constexpr int64_t kUnit = 1 << 10;
    const Between r = between(index[1], s[1], shape[1], o);
    const Between k = between(index[2], s[2], shape[2], o);
    const int64_t down = r.position - kUnit * r.lower;
    const int64_t right = k.position - kUnit * k.lower;
    const auto v = x.data<int8_t>();
    const int64_t sum =
        v[at(n, r.lower, k.lower, c)] * (kUnit - down) * (kUnit - right) +
        v[at(n, r.upper, k.lower, c)] * down * (kUnit - right) +
        v[at(n, r.lower, k.upper, c)] * (kUnit - down) * right +
        v[at(n, r.upper, k.upper, c)] * down * right;
    const int64_t half = sum > 0 ? 1 << 19 : -(1 << 19);
    y.data<int8_t>()[static_cast<size_t>(i)] =
        static_cast<int8_t>((sum + half) / (1 << 20));
  }
  return y;
}

}  // namespace octet::io::tflite
