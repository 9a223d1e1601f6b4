// Pools and reductions.
#include <algorithm>
#include <limits>
#include <vector>

#include <fmt/format.h>

#include "node.h"

namespace octet::io::tflite {
namespace {

// Calls put(output, first, rows, columns, channel) for the valid part of each
// window.
template <class Visit>
Shape pool_windows(const Node& node, const Visit& visit) {
  const auto& o = node.options<schema::Pool2DOptionsT>();
  const Shape& x = node.input(0).shape();
  if (x.rank() != 4 || o.filter_h < 1 || o.filter_w < 1 || o.stride_h < 1 ||
      o.stride_w < 1) {
    throw FormatError("invalid_file", node.name, "invalid window");
  }
  const auto along = [&](int64_t size, int64_t window, int64_t stride) {
    const bool same = o.padding == schema::Padding::SAME;
    const int64_t count =
        same ? (size + stride - 1) / stride : (size - window + stride) / stride;
    const int64_t pad =
        same ? std::max<int64_t>((count - 1) * stride + window - size, 0) / 2
             : 0;
    return std::pair(count, pad);
  };
  const auto [rows, top] = along(x[1], o.filter_h, o.stride_h);
  const auto [columns, left] = along(x[2], o.filter_w, o.stride_w);
  if (rows < 1 || columns < 1) {
    throw FormatError("invalid_file", node.name, "the window does not fit");
  }
  const Shape shape{x[0], rows, columns, x[3]};
  size_t at = 0;
  std::vector<size_t> cells;
  for (int64_t n = 0; n < x[0]; ++n) {
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < columns; ++j) {
        for (int64_t c = 0; c < x[3]; ++c, ++at) {
          cells.clear();
          const auto inside = [](int64_t first, int64_t window, int64_t size) {
            return std::pair(std::max<int64_t>(first, 0),
                             std::min(first + window, size));
          };
          const auto [row, last_row] =
              inside(i * o.stride_h - top, o.filter_h, x[1]);
          const auto [column, last_column] =
              inside(j * o.stride_w - left, o.filter_w, x[2]);
          for (int64_t a = row; a < last_row; ++a) {
            for (int64_t b = column; b < last_column; ++b) {
              cells.push_back(
                  static_cast<size_t>(((n * x[1] + a) * x[2] + b) * x[3] + c));
            }
          }
          visit(at, cells);
        }
      }
    }
  }
  return shape;
}

schema::Activation activation_of(const Node& node) {
  return node.options<schema::Pool2DOptionsT>().activation;
}

template <class T>
Tensor as_tensor(const Shape& shape, const std::vector<T>& values) {
  return Tensor::of<T>(shape, std::span<const T>(values));
}

}  // namespace

Tensor run_average_pool(const Node& node) {
  const Tensor& x = node.input(0);
  if (!node.quantized()) {
    const FloatBounds bounds = float_bounds(activation_of(node));
    std::vector<float> y;
    const Shape shape =
        pool_windows(node, [&](size_t, const std::vector<size_t>& cells) {
          float sum = 0;
          for (const size_t i : cells) sum += x.f32()[i];
          y.push_back(std::clamp(sum / static_cast<float>(cells.size()),
                                 bounds.low, bounds.high));
        });
    return as_tensor(shape, y);
  }
  const IntBounds bounds = int_bounds(activation_of(node), node.output_quant());
  return by_integer(x, [&]<class T>(T) {
    std::vector<T> y;
    const auto from = x.data<T>();
    const Shape shape =
        pool_windows(node, [&](size_t, const std::vector<size_t>& cells) {
          int32_t sum = 0;
          for (const size_t i : cells) sum += from[i];
          const auto count = static_cast<int32_t>(cells.size());
          // Rounds to nearest, ties away from zero.
          const int32_t half = sum > 0 ? count / 2 : -(count / 2);
          y.push_back(
              clamped<T>((sum + half) / count, bounds.low, bounds.high));
        });
    return as_tensor(shape, y);
  });
}

Tensor run_max_pool(const Node& node) {
  const Tensor& x = node.input(0);
  if (!node.quantized()) {
    const FloatBounds bounds = float_bounds(activation_of(node));
    std::vector<float> y;
    const Shape shape =
        pool_windows(node, [&](size_t, const std::vector<size_t>& cells) {
          float top = std::numeric_limits<float>::lowest();
          for (const size_t i : cells) top = std::max(top, x.f32()[i]);
          y.push_back(std::clamp(top, bounds.low, bounds.high));
        });
    return as_tensor(shape, y);
  }
  const IntBounds bounds = int_bounds(activation_of(node), node.output_quant());
  return by_integer(x, [&]<class T>(T) {
    std::vector<T> y;
    const auto from = x.data<T>();
    const Shape shape =
        pool_windows(node, [&](size_t, const std::vector<size_t>& cells) {
          T top = std::numeric_limits<T>::min();
          for (const size_t i : cells) top = std::max(top, from[i]);
          y.push_back(clamped<T>(top, bounds.low, bounds.high));
        });
    return as_tensor(shape, y);
  });
}

namespace {

// The output value of each input value, for reduced axes.
struct Reduced {
  Shape shape;
  std::vector<size_t> output_of;  // by input
  int64_t count = 1;              // of values per output
};

Reduced reduced_by(const Node& node) {
  const auto& o = node.options<schema::ReducerOptionsT>();
  const Shape& x = node.input(0).shape();
  std::vector<bool> gone(static_cast<size_t>(x.rank()), false);
  for (const int32_t axis : node.input(1).data<int32_t>()) {
    const int32_t place = axis < 0 ? axis + x.rank() : axis;
    if (place < 0 || place >= x.rank()) {
      throw FormatError("invalid_file", node.name,
                        fmt::format("axis {} of {}", axis, x.to_string()));
    }
    gone[static_cast<size_t>(place)] = true;
  }
  Reduced result;
  std::vector<int64_t> kept;
  std::vector<size_t> strides(gone.size(), 0);
  size_t stride = 1;
  for (size_t axis = gone.size(); axis-- > 0;) {
    const int64_t size = x[static_cast<int>(axis)];
    if (gone[axis]) {
      result.count *= size;
      if (o.keep_dims) kept.insert(kept.begin(), 1);
      continue;
    }
    strides[axis] = stride;
    stride *= static_cast<size_t>(size);
    kept.insert(kept.begin(), size);
  }
  result.shape = Shape(std::span<const int64_t>(kept));
  for (int64_t i = 0; i < x.size(); ++i) {
    size_t to = 0;
    int64_t rest = i;
    for (size_t axis = gone.size(); axis-- > 0;) {
      const int64_t size = x[static_cast<int>(axis)];
      to += static_cast<size_t>(rest % size) * strides[axis];
      rest /= size;
    }
    result.output_of.push_back(to);
  }
  return result;
}

Tensor reduce(const Node& node, bool mean) {
  const Tensor& x = node.input(0);
  const Reduced reduced = reduced_by(node);
  const auto outputs = static_cast<size_t>(reduced.shape.size());
  if (!node.quantized()) {
    std::vector<float> sums(outputs, 0);
    for (size_t i = 0; i < reduced.output_of.size(); ++i) {
      sums[reduced.output_of[i]] += x.f32()[i];
    }
    if (mean) {
      for (float& sum : sums) sum /= static_cast<float>(reduced.count);
    }
    return as_tensor(reduced.shape, sums);
  }
  const NodeQuant in = node.quant(0), out = node.output_quant();
  // The division is part of the factor.
  FixedFactor factor = node.factor(double{in.scale} / double{out.scale});
  if (mean) factor = divided(factor, reduced.count);
  return by_integer(x, [&]<class T>(T) {
    std::vector<int32_t> sums(outputs, 0);
    const auto from = x.data<T>();
    for (size_t i = 0; i < reduced.output_of.size(); ++i) {
      sums[reduced.output_of[i]] += from[i] - in.zero_point;
    }
    std::vector<T> y;
    for (const int32_t sum : sums) {
      y.push_back(clamped<T>(node.scaled(sum, factor) + out.zero_point, out.low,
                             out.high));
    }
    return as_tensor(reduced.shape, y);
  });
}

}  // namespace

Tensor run_mean(const Node& node) { return reduce(node, true); }
Tensor run_sum(const Node& node) { return reduce(node, false); }

}  // namespace octet::io::tflite
