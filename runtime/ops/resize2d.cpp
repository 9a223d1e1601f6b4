#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>
#include <octet/runtime/parallel.h>

namespace octet {
namespace {

// Where an output row or column comes from: two inputs and the second's
// weight.
struct Tap {
  int64_t low, high;
  float weight;
};

std::vector<Tap> taps(int64_t size, int64_t target,
                      Interpolation interpolation) {
  // Of an enlargement by a whole number it is that number.
  const double scale = static_cast<double>(target) / static_cast<double>(size);
  std::vector<Tap> result;
  for (int64_t i = 0; i < target; ++i) {
    if (interpolation == Interpolation::nearest) {
      const int64_t at = (2 * i + 1) * size / (2 * target);
      result.push_back({at, at, 0});
      continue;
    }
    const double centre = (static_cast<double>(i) + 0.5) / scale - 0.5;
    const int64_t low = static_cast<int64_t>(std::floor(centre));
    result.push_back({std::max<int64_t>(low, 0), std::min(low + 1, size - 1),
                      static_cast<float>(centre - static_cast<double>(low))});
  }
  return result;
}

struct Resizing {
  int64_t h, w, c;
  std::vector<Tap> rows, cols;

  int64_t input_size() const { return h * w * c; }
  int64_t output_size() const {
    return static_cast<int64_t>(rows.size() * cols.size()) * c;
  }
  /// Calls `use(input offset, weight)` for the pixels around each output pixel.
  template <class Begin, class Use>
  void for_each(Begin begin, Use use) const {
    for (const Tap& row : rows) {
      for (const Tap& col : cols) {
        begin();
        const auto add = [&](int64_t ih, int64_t iw, float weight) {
          if (weight != 0) use((ih * w + iw) * c, weight);
        };
        add(row.low, col.low, (1 - row.weight) * (1 - col.weight));
        add(row.low, col.high, (1 - row.weight) * col.weight);
        add(row.high, col.low, row.weight * (1 - col.weight));
        add(row.high, col.high, row.weight * col.weight);
      }
    }
  }
  void resize(float* y, const float* x) const {
    std::fill(y, y + output_size(), 0.0f);
    y -= c;
    for_each([&] { y += c; },
             [&](int64_t at, float weight) {
               for (int64_t k = 0; k < c; ++k) y[k] += weight * x[at + k];
             });
  }
  void gather(float* dx, const float* dy) const {
    std::fill(dx, dx + input_size(), 0.0f);
    dy -= c;
    for_each([&] { dy += c; },
             [&](int64_t at, float weight) {
               for (int64_t k = 0; k < c; ++k) dx[at + k] += weight * dy[k];
             });
  }
};

Variable resized(const char* op, const Variable& x, Size2 size,
                 Interpolation interpolation) {
  const Shape from = x.shape();
  Tensor y(Shape{from[0], size.h, size.w, from[3]});
  const Resizing r{from[1], from[2], from[3],
                   taps(from[1], size.h, interpolation),
                   taps(from[2], size.w, interpolation)};
  const float* values = x.value().f32().data();
  float* out = y.f32().data();
  parallel_chunks(from[0], [&](int64_t first, int64_t last, int64_t) {
    for (int64_t i = first; i < last; ++i) {
      r.resize(out + i * r.output_size(), values + i * r.input_size());
    }
  });
  return record(op, {x}, y, {}, [r, from](const Tensor& dy) {
    Tensor dx(from);
    const float* g = dy.f32().data();
    float* to = dx.f32().data();
    parallel_chunks(from[0], [&](int64_t first, int64_t last, int64_t) {
      for (int64_t i = first; i < last; ++i) {
        r.gather(to + i * r.input_size(), g + i * r.output_size());
      }
    });
    return std::vector{dx};
  });
}

void expect_images(const char* op, const Shape& x) {
  if (x.rank() == 4 && x[1] > 0 && x[2] > 0) return;
  throw ShapeError(
      fmt::format("{}: expected images [n,h,w,c], got {}", op, x.to_string()));
}

}  // namespace

Variable resize2d(const Variable& x, Size2 size, Interpolation interpolation) {
  expect_images("resize2d", x.shape());
  if (size.h < 1 || size.w < 1 || size.h > kMaxWindow || size.w > kMaxWindow) {
    throw ValueError(
        fmt::format("resize2d: expected sizes in [1, {}], got {}x{}",
                    kMaxWindow, size.h, size.w));
  }
  return resized("resize2d", x, size, interpolation);
}

Variable upsample2d(const Variable& x, Size2 factors,
                    Interpolation interpolation) {
  const Shape from = x.shape();
  expect_images("upsample2d", from);
  if (factors.h < 1 || factors.w < 1) {
    throw ValueError(fmt::format("upsample2d: expected factors >= 1, got {}x{}",
                                 factors.h, factors.w));
  }
  // Throws where a product overflows.
  (void)Shape{from[1], factors.h}.size();
  (void)Shape{from[2], factors.w}.size();
  return resized("upsample2d", x, {from[1] * factors.h, from[2] * factors.w},
                 interpolation);
}

}  // namespace octet
