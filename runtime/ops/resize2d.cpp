#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <vector>

#include <fmt/format.h>

#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>
#include <octet/runtime/parallel.h>

#include "inference/trace.h"

namespace octet {
namespace {

// Weighted input pixels of an output row or column.
struct Taps {
  int count = 1;
  std::array<int64_t, 4> at{};
  std::array<float, 4> weight{1, 0, 0, 0};
};

// Weight of a pixel at distance `d` from its center.
double cubic(double d, double a) {
  return d < 1 ? ((a + 2) * d - (a + 3)) * d * d + 1
               : ((a * d - 5 * a) * d + 8 * a) * d - 4 * a;
}

double place_of(int64_t i, int64_t size, int64_t target,
                PixelCoordinates coordinates) {
  // Exact for enlargements by whole numbers.
  const double scale = static_cast<double>(target) / static_cast<double>(size);
  const auto place = static_cast<double>(i);
  switch (coordinates) {
    case PixelCoordinates::align_corners:
      return target == 1 ? 0
                         : place * static_cast<double>(size - 1) /
                               static_cast<double>(target - 1);
    case PixelCoordinates::asymmetric:
      return place / scale;
    default:
      return (place + 0.5) / scale - 0.5;
  }
}

std::vector<Taps> taps(int64_t size, int64_t target,
                       const ResizeOptions& options) {
  std::vector<Taps> result(static_cast<size_t>(target));
  for (int64_t i = 0; i < target; ++i) {
    Taps& t = result[static_cast<size_t>(i)];
    if (options.interpolation == Interpolation::nearest) {
      t.at[0] = (2 * i + 1) * size / (2 * target);
      continue;
    }
    const double place = place_of(i, size, target, options.coordinates);
    const auto low = static_cast<int64_t>(std::floor(place));
    const double rest = place - static_cast<double>(low);
    const auto pixel = [&](int64_t at) {
      return std::clamp<int64_t>(at, 0, size - 1);
    };
    if (options.interpolation == Interpolation::bilinear) {
      const auto weight = static_cast<float>(rest);
      t = {2, {pixel(low), pixel(low + 1)}, {1 - weight, weight}};
      continue;
    }
    t.count = 4;
    for (int k = 0; k < 4; ++k) {
      const auto index = static_cast<size_t>(k);
      t.at[index] = pixel(low + k - 1);
      t.weight[index] = static_cast<float>(
          cubic(std::abs(rest - (k - 1)),
                static_cast<double>(options.cubic_coefficient)));
    }
  }
  return result;
}

struct Resizing {
  int64_t h, w, c;
  std::vector<Taps> rows, cols;

  int64_t input_size() const { return h * w * c; }
  int64_t output_size() const {
    return static_cast<int64_t>(rows.size() * cols.size()) * c;
  }
  /// Calls `use(input offset, weight)` for the pixels around each output pixel.
  template <class Begin, class Use>
  void for_each(Begin begin, Use use) const {
    for (const Taps& row : rows) {
      for (const Taps& col : cols) {
        begin();
        for (size_t i = 0; i < static_cast<size_t>(row.count); ++i) {
          for (size_t k = 0; k < static_cast<size_t>(col.count); ++k) {
            const float weight = row.weight[i] * col.weight[k];
            if (weight != 0) use((row.at[i] * w + col.at[k]) * c, weight);
          }
        }
      }
    }
  }
  void resize_all(const Tensor& x, Tensor& y) const {
    const float* values = x.f32().data();
    float* out = y.f32().data();
    parallel_chunks(x.shape()[0], [&](int64_t first, int64_t last, int64_t) {
      for (int64_t i = first; i < last; ++i) {
        resize(out + i * output_size(), values + i * input_size());
      }
    });
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

// The source of each pixel of an enlargement without interpolation.
inference::Attributes repeated_pixels(const Resizing& r,
                                      const ResizeOptions& options) {
  const bool enlarges = std::ssize(r.rows) >= r.h && std::ssize(r.cols) >= r.w;
  if (options.interpolation != Interpolation::nearest || !enlarges) return {};
  inference::NearestPixels pixels;
  for (const Taps& row : r.rows) pixels.rows.push_back(row.at[0]);
  for (const Taps& col : r.cols) pixels.cols.push_back(col.at[0]);
  return pixels;
}

Variable resized(const char* op, const Variable& x, Size2 size,
                 const ResizeOptions& options) {
  const Shape from = x.shape();
  const Shape shape{from[0], size.h, size.w, from[3]};
  const Resizing r{from[1], from[2], from[3], taps(from[1], size.h, options),
                   taps(from[2], size.w, options)};
  const Variable traced = inference::offer([&] {
    return inference::TracedOp{
        .op = op,
        .inputs = {x},
        .shape = shape,
        .attributes = repeated_pixels(r, options),
        .forward = [r](std::span<const Tensor> in, Tensor& y) {
          r.resize_all(in[0], y);
        }};
  });
  if (traced) return traced;
  Tensor y(shape);
  r.resize_all(x.value(), y);
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
      "invalid_shape", op,
      fmt::format("needs images [n,h,w,c], got {}", x.to_string()));
}

}  // namespace

Variable resize2d(const Variable& x, Size2 size, const ResizeOptions& options) {
  expect_images("resize2d", x.shape());
  if (size.h < 1 || size.w < 1 || size.h > kMaxWindow || size.w > kMaxWindow) {
    throw ValueError("out_of_range", "resize2d",
                     fmt::format("sizes must be in [1, {}], got {}x{}",
                                 kMaxWindow, size.h, size.w));
  }
  if (options.interpolation == Interpolation::nearest &&
      options.coordinates != PixelCoordinates::half_pixel) {
    throw ValueError(
        "unsupported_value", "resize2d",
        "nearest interpolation supports half_pixel coordinates only");
  }
  return resized("resize2d", x, size, options);
}

Variable upsample2d(const Variable& x, Size2 factors,
                    Interpolation interpolation) {
  const Shape from = x.shape();
  expect_images("upsample2d", from);
  if (factors.h < 1 || factors.w < 1) {
    throw ValueError("out_of_range", "upsample2d",
                     fmt::format("factors must be positive, got {}x{}",
                                 factors.h, factors.w));
  }
  // Throws if a product overflows.
  (void)Shape{from[1], factors.h}.size();
  (void)Shape{from[2], factors.w}.size();
  return resized("upsample2d", x, {from[1] * factors.h, from[2] * factors.w},
                 {.interpolation = interpolation});
}

}  // namespace octet
