// Resize filters.
#include "resize.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include <fmt/format.h>

#include <octet/io/image.h>
#include <octet/runtime/error.h>

namespace octet::io {
namespace {

/// The input pixels of an output position along an axis.
struct Window {
  int64_t first = 0;
  std::vector<double> weights;  // their sum is 1
};

/// Source: Keys, Cubic convolution interpolation for digital image processing,
/// 1981, with a = -0.5.
double cubic(double x) {
  constexpr double a = -0.5;
  x = std::abs(x);
  if (x < 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  if (x < 2) return a * (((x - 5) * x + 8) * x - 4);
  return 0;
}

double triangle(double x) { return std::max(0.0, 1 - std::abs(x)); }

bool is_cubic(ResizeFilter filter) {
  return filter == ResizeFilter::bicubic ||
         filter == ResizeFilter::keras_bicubic;
}

/// Pillow rounds to bytes after each axis, and weights to 22 bits.
bool is_pillow(ResizeFilter filter) {
  return filter == ResizeFilter::antialias || filter == ResizeFilter::bicubic;
}

/// Returns the windows of outputs [range.first, range.first + range.count) of
/// an axis resized from `from` to `to`. Pixels outside the image are ignored.
std::vector<Window> windows_of(int64_t from, int64_t to, Range range,
                               ResizeFilter filter) {
  constexpr double kPillowOne = 1 << 22;
  const bool pillow = is_pillow(filter);
  const double scale = static_cast<double>(from) / static_cast<double>(to);
  const double widening = pillow ? std::max(scale, 1.0) : 1.0;
  const double radius = widening * (is_cubic(filter) ? 2 : 1);
  const auto weight_at = is_cubic(filter) ? cubic : triangle;
  std::vector<Window> windows(static_cast<size_t>(range.count));
  for (int64_t i = 0; i < range.count; ++i) {
    Window& window = windows[static_cast<size_t>(i)];
    const double center = (static_cast<double>(range.first + i) + 0.5) * scale;
    if (filter == ResizeFilter::nearest) {
      window = {(2 * (range.first + i) + 1) * from / (2 * to), {1}};
      continue;
    }
    const auto low =
        std::max<int64_t>(0, static_cast<int64_t>(std::floor(center - radius)));
    const auto high = std::min<int64_t>(
        from, static_cast<int64_t>(std::ceil(center + radius)));
    window.first = low;
    double sum = 0;
    for (int64_t j = low; j < high; ++j) {
      const double distance = static_cast<double>(j) + 0.5 - center;
      window.weights.push_back(weight_at(distance / widening));
      sum += window.weights.back();
    }
    for (double& weight : window.weights) {
      weight /= sum;
      if (pillow) weight = std::round(weight * kPillowOne) / kPillowOne;
    }
  }
  return windows;
}

double to_byte(double x) { return std::clamp(std::floor(x + 0.5), 0.0, 255.0); }

/// Shapes: from [h,w,c] u8, rows [rows.first, ...) -> to
/// [rows.count,windows,c].
void resize_rows(const Tensor& from, Range rows,
                 const std::vector<Window>& windows, bool to_bytes,
                 double* to) {
  const int64_t w = from.shape()[1], c = from.shape()[2];
  const uint8_t* row = from.data<uint8_t>().data() + rows.first * w * c;
  for (int64_t y = 0; y < rows.count; ++y, row += w * c) {
    for (const Window& window : windows) {
      for (int64_t k = 0; k < c; ++k) {
        const uint8_t* x = row + window.first * c + k;
        double sum = 0;
        for (const double weight : window.weights) {
          sum += weight * static_cast<double>(*x);
          x += c;
        }
        *to++ = to_bytes ? to_byte(sum) : sum;
      }
    }
  }
}

/// Shapes: from [rows,row], starting at row `first` -> to [windows,row].
void resize_columns(const double* from, int64_t first, int64_t row,
                    const std::vector<Window>& windows, uint8_t* to) {
  std::vector<double> sums(static_cast<size_t>(row));
  for (const Window& window : windows) {
    std::ranges::fill(sums, 0.0);
    const double* x = from + (window.first - first) * row;
    for (const double weight : window.weights) {
      for (double& sum : sums) sum += weight * *x++;
    }
    for (const double sum : sums) *to++ = static_cast<uint8_t>(to_byte(sum));
  }
}

/// Returns the input rows of all windows.
Range rows_of(const std::vector<Window>& windows) {
  int64_t first = windows[0].first, end = 0;
  for (const Window& window : windows) {
    first = std::min(first, window.first);
    end = std::max(end, window.first + std::ssize(window.weights));
  }
  return {first, end - first};
}

}  // namespace

Tensor resize_part(const Tensor& image, Size2 whole, Range rows, Range columns,
                   ResizeFilter filter) {
  const Shape& shape = image.shape();
  const int64_t c = shape[2];
  const std::vector<Window> across =
      windows_of(shape[1], whole.w, columns, filter);
  const std::vector<Window> down = windows_of(shape[0], whole.h, rows, filter);
  const Range read = rows_of(down);
  const int64_t row = columns.count * c;
  std::vector<double> middle(static_cast<size_t>(read.count * row));
  resize_rows(image, read, across, is_pillow(filter), middle.data());
  Tensor result(Shape{rows.count, columns.count, c}, DType::u8);
  resize_columns(middle.data(), read.first, row, down,
                 result.data<uint8_t>().data());
  return result;
}

void check_pixels(const Tensor& image, int rank, Size2 size) {
  if (image.empty() || image.dtype() != DType::u8) {
    throw ValueError("dtype_mismatch", "resize", "image must be u8");
  }
  const Shape& shape = image.shape();
  if (shape.rank() != rank || shape.size() == 0) {
    throw ShapeError(
        "invalid_shape", "resize",
        fmt::format("must be {} with at least 1 pixel, got {}",
                    rank == 3 ? "an image [h,w,c]" : "a mask [h,w]",
                    shape.to_string()));
  }
  if (size.h < 1 || size.w < 1 || size.h > kLargestImageSide ||
      size.w > kLargestImageSide) {
    throw ValueError("out_of_range", "resize size",
                     fmt::format("must be 1 to {}, got {}x{}",
                                 kLargestImageSide, size.h, size.w));
  }
}

}  // namespace octet::io
