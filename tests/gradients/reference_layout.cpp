#include <algorithm>
#include <cmath>

#include "reference.h"

namespace octet::reference {
namespace {

using Index = std::vector<int64_t>;

Index unravel(int64_t flat, const Shape& shape) {
  Index index(static_cast<size_t>(shape.rank()));
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    index[static_cast<size_t>(axis)] = flat % shape[axis];
    flat /= shape[axis];
  }
  return index;
}

int64_t ravel(const Index& index, const Shape& shape) {
  int64_t flat = 0;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    flat = flat * shape[axis] + index[static_cast<size_t>(axis)];
  }
  return flat;
}

}  // namespace

Array gather(const Array& x, const Shape& shape,
             const std::function<Index(const Index&)>& index_of) {
  Array y(shape);
  for (int64_t i = 0; i < y.size(); ++i) {
    y[i] = x[ravel(index_of(unravel(i, shape)), x.shape)];
  }
  return y;
}

Array concatenate(const std::vector<Array>& inputs, int axis) {
  int64_t total = 0;
  for (const Array& x : inputs) total += x.shape[axis];
  Array y(inputs[0].shape.with(axis, total));
  int64_t first = 0;
  for (const Array& x : inputs) {
    for (int64_t i = 0; i < x.size(); ++i) {
      Index index = unravel(i, x.shape);
      index[static_cast<size_t>(axis < 0 ? axis + x.shape.rank() : axis)] +=
          first;
      y[ravel(index, y.shape)] = x[i];
    }
    first += x.shape[axis];
  }
  return y;
}

Array pad2d(const Array& x, const Pads& p, double value) {
  const Shape& s = x.shape;
  Array y({s[0], s[1] + p.top + p.bottom, s[2] + p.left + p.right, s[3]});
  std::ranges::fill(y.values, value);
  for (int64_t i = 0; i < x.size(); ++i) {
    Index index = unravel(i, s);
    index[1] += p.top;
    index[2] += p.left;
    y[ravel(index, y.shape)] = x[i];
  }
  return y;
}

// Tent weights around the center of each output pixel, one pixel wide on either
// side; the weights of existing pixels sum to 1.
Array resize2d_bilinear(const Array& x, Size2 size) {
  const Shape& s = x.shape;
  Array y({s[0], size.h, size.w, s[3]});
  const auto tent = [](int64_t out, int64_t target, int64_t in, int64_t from) {
    const double at = (static_cast<double>(out) + 0.5) *
                      static_cast<double>(from) / static_cast<double>(target);
    return std::max(0.0, 1 - std::fabs(at - static_cast<double>(in) - 0.5));
  };
  for (int64_t i = 0; i < y.size(); ++i) {
    const Index to = unravel(i, y.shape);
    double sum = 0;
    double weights = 0;
    for (int64_t h = 0; h < s[1]; ++h)
      for (int64_t w = 0; w < s[2]; ++w) {
        const double weight =
            tent(to[1], size.h, h, s[1]) * tent(to[2], size.w, w, s[2]);
        sum += weight * x[ravel({to[0], h, w, to[3]}, s)];
        weights += weight;
      }
    y[i] = sum / weights;
  }
  return y;
}

Array avg_pool2d(const Array& x, Size2 window, const WindowOptions& o) {
  const Shape& s = x.shape;
  Array y(
      {s[0], (s[1] + o.pads.top + o.pads.bottom - window.h) / o.strides.h + 1,
       (s[2] + o.pads.left + o.pads.right - window.w) / o.strides.w + 1, s[3]});
  for (int64_t i = 0; i < y.size(); ++i) {
    const Index to = unravel(i, y.shape);
    double sum = 0;
    double count = 0;
    for (int64_t p = 0; p < window.h; ++p)
      for (int64_t q = 0; q < window.w; ++q) {
        const int64_t h = to[1] * o.strides.h + p - o.pads.top;
        const int64_t w = to[2] * o.strides.w + q - o.pads.left;
        if (h < 0 || h >= s[1] || w < 0 || w >= s[2]) continue;
        sum += x[ravel({to[0], h, w, to[3]}, s)];
        count += 1;
      }
    y[i] = sum / count;
  }
  return y;
}

Array reduce(const Array& x, const std::vector<int>& axes,
             const std::function<double(const std::vector<double>&)>& fold) {
  Shape shape = x.shape;
  for (const int axis : axes) shape = shape.with(axis, 1);
  std::vector<std::vector<double>> joined(static_cast<size_t>(shape.size()));
  for (int64_t i = 0; i < x.size(); ++i) {
    Index index = unravel(i, x.shape);
    for (size_t axis = 0; axis < index.size(); ++axis) {
      if (shape[static_cast<int>(axis)] == 1) index[axis] = 0;
    }
    joined[static_cast<size_t>(ravel(index, shape))].push_back(x[i]);
  }
  Array y(shape);
  for (int64_t i = 0; i < y.size(); ++i) {
    y[i] = fold(joined[static_cast<size_t>(i)]);
  }
  return y;
}

}  // namespace octet::reference
