#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include <fmt/format.h>

#include <octet/io/image.h>
#include <octet/runtime/error.h>

namespace octet::io {
namespace {

/// What one output position reads along an axis.
struct Window {
  int64_t first = 0;
  std::vector<float> weights;  // their sum is 1
};

/// Source: the triangle filter as in Pillow's BILINEAR and
/// jax.image.resize(antialias=True): centres at i + 0.5, pixels outside the
/// image do not count.
std::vector<Window> windows_of(int64_t from, int64_t to) {
  const double scale = static_cast<double>(from) / static_cast<double>(to);
  const double radius = std::max(scale, 1.0);
  std::vector<Window> windows(static_cast<size_t>(to));
  for (int64_t i = 0; i < to; ++i) {
    const double centre = (static_cast<double>(i) + 0.5) * scale;
    const auto low =
        std::max<int64_t>(0, static_cast<int64_t>(std::floor(centre - radius)));
    const auto high = std::min<int64_t>(
        from, static_cast<int64_t>(std::ceil(centre + radius)));
    std::vector<double> weights;
    double sum = 0;
    for (int64_t j = low; j < high; ++j) {
      const double distance =
          std::abs(static_cast<double>(j) + 0.5 - centre) / radius;
      weights.push_back(std::max(0.0, 1.0 - distance));
      sum += weights.back();
    }
    Window& window = windows[static_cast<size_t>(i)];
    window.first = low;
    for (const double weight : weights) {
      window.weights.push_back(static_cast<float>(weight / sum));
    }
  }
  return windows;
}

/// Shapes: from [h,w,c] u8 -> to [h,ow,c] f32.
void resize_rows(const uint8_t* from, int64_t h, int64_t w, int64_t c,
                 const std::vector<Window>& windows, float* to) {
  for (int64_t y = 0; y < h; ++y) {
    const uint8_t* row = from + y * w * c;
    for (const Window& window : windows) {
      for (int64_t k = 0; k < c; ++k) {
        const uint8_t* x = row + window.first * c + k;
        float sum = 0;
        for (const float weight : window.weights) {
          sum += weight * static_cast<float>(*x);
          x += c;
        }
        *to++ = sum;
      }
    }
  }
}

/// Shapes: from [h,row] f32 -> to [oh,row] u8.
void resize_columns(const float* from, int64_t row,
                    const std::vector<Window>& windows, uint8_t* to) {
  std::vector<float> sums(static_cast<size_t>(row));
  for (const Window& window : windows) {
    std::fill(sums.begin(), sums.end(), 0.0f);
    const float* x = from + window.first * row;
    for (const float weight : window.weights) {
      for (float& sum : sums) sum += weight * *x++;
    }
    for (const float sum : sums) {
      *to++ = static_cast<uint8_t>(std::min(sum + 0.5f, 255.0f));
    }
  }
}

void check_resize(const Tensor& image, int rank, Size2 size) {
  if (image.empty() || image.dtype() != DType::u8) {
    throw ValueError("resize: expected an image of u8, got another tensor");
  }
  const Shape& shape = image.shape();
  if (shape.rank() != rank || shape.size() == 0) {
    throw ShapeError(fmt::format(
        "resize: expected {} of 1 or more pixels, got {}",
        rank == 3 ? "an image [h,w,c]" : "a mask [h,w]", shape.to_string()));
  }
  if (size.h < 1 || size.w < 1 || size.h > kLargestImageSide ||
      size.w > kLargestImageSide) {
    throw ValueError(
        fmt::format("resize: expected a size of 1 to {}, got {}x{}",
                    kLargestImageSide, size.h, size.w));
  }
}

}  // namespace

Tensor resize_bilinear(const Tensor& image, Size2 size) {
  check_resize(image, 3, size);
  const Shape& shape = image.shape();
  const int64_t h = shape[0];
  const int64_t w = shape[1];
  const int64_t c = shape[2];
  if (size.h == h && size.w == w) return image.clone();
  Tensor rows(Shape{h, size.w, c});
  resize_rows(image.data<uint8_t>().data(), h, w, c, windows_of(w, size.w),
              rows.f32().data());
  Tensor result(Shape{size.h, size.w, c}, DType::u8);
  resize_columns(rows.f32().data(), size.w * c, windows_of(h, size.h),
                 result.data<uint8_t>().data());
  return result;
}

Tensor resize_nearest(const Tensor& mask, Size2 size) {
  check_resize(mask, 2, size);
  const int64_t h = mask.shape()[0], w = mask.shape()[1];
  Tensor result(Shape{size.h, size.w}, DType::u8);
  const uint8_t* from = mask.data<uint8_t>().data();
  uint8_t* to = result.data<uint8_t>().data();
  for (int64_t y = 0; y < size.h; ++y) {
    const uint8_t* row = from + (2 * y + 1) * h / (2 * size.h) * w;
    for (int64_t x = 0; x < size.w; ++x) {
      *to++ = row[(2 * x + 1) * w / (2 * size.w)];
    }
  }
  return result;
}

}  // namespace octet::io
