// Geometric transforms: flip, crop, shift and rotation.
#include <algorithm>
#include <cmath>
#include <numbers>

#include <fmt/format.h>

#include <octet/runtime/error.h>
#include <octet/train/data_loader.h>

#include "image_transform.h"

namespace octet::train {
namespace {

void flip_rows(const Image& image) {
  for (int64_t y = 0; y < image.h; ++y) {
    float* left = image.row(y);
    float* right = left + (image.w - 1) * image.c;
    for (; left < right; left += image.c, right -= image.c) {
      std::swap_ranges(left, left + image.c, right);
    }
  }
}

void flip_columns(const Image& image) {
  for (int64_t y = 0; y < image.h / 2; ++y) {
    std::swap_ranges(image.row(y), image.row(y + 1),
                     image.row(image.h - 1 - y));
  }
}

/// Mirrors a square image at its main diagonal.
void transpose_square(const Image& image) {
  for (int64_t y = 0; y < image.h; ++y) {
    for (int64_t x = 0; x < y; ++x) {
      float* lower = image.row(y) + x * image.c;
      std::swap_ranges(lower, lower + image.c, image.row(x) + y * image.c);
    }
  }
}

/// Maps position `x` outside of the image to its source in [0, size), with at
/// most one reflection. Returns -1 for zero padding.
int64_t source_of(int64_t x, int64_t size, Border border) {
  if (x >= 0 && x < size) return x;
  if (border == Border::zero) return -1;
  return x < 0 ? -x : 2 * (size - 1) - x;
}

/// As source_of(), with any number of reflections.
int64_t far_source_of(int64_t x, int64_t size, Border border) {
  if (x >= 0 && x < size) return x;
  if (border == Border::zero) return -1;
  if (size == 1) return 0;
  const int64_t period = 2 * (size - 1);
  const int64_t rest = ((x % period) + period) % period;
  return rest < size ? rest : period - rest;
}

/// Moves the image up by dy and left by dx.
void move_by(const Image& image, int64_t dy, int64_t dx, Border border,
             Scratch& scratch) {
  if (dy == 0 && dx == 0) return;
  scratch.assign(image.pixels, image.pixels + image.size());
  const int64_t inside_first = std::clamp<int64_t>(-dx, 0, image.w);
  const int64_t inside_last = std::clamp<int64_t>(image.w - dx, 0, image.w);
  for (int64_t y = 0; y < image.h; ++y) {
    float* to = image.row(y);
    const int64_t from_y = source_of(y + dy, image.h, border);
    if (from_y < 0) {
      std::fill(to, to + image.w * image.c, 0.0f);
      continue;
    }
    const float* from = scratch.data() + from_y * image.w * image.c;
    const auto copy_outside = [&](int64_t first, int64_t last) {
      for (int64_t x = first; x < last; ++x) {
        const int64_t from_x = source_of(x + dx, image.w, border);
        for (int64_t c = 0; c < image.c; ++c) {
          to[x * image.c + c] = from_x < 0 ? 0.0f : from[from_x * image.c + c];
        }
      }
    };
    copy_outside(0, inside_first);
    if (inside_first < inside_last) {
      std::copy(from + (inside_first + dx) * image.c,
                from + (inside_last + dx) * image.c,
                to + inside_first * image.c);
    }
    copy_outside(std::max(inside_first, inside_last), image.w);
  }
}

/// Source position of the result's pixel (y, x): (yy y + yx x + y0,
/// xy y + xx x + x0).
struct Placement {
  float yy, yx, y0;
  float xy, xx, x0;
};

/// Nearest-neighbor resampling, for class masks.
void resample_nearest(const Image& image, const Placement& place, Border border,
                      Scratch& scratch) {
  scratch.assign(image.pixels, image.pixels + image.size());
  float* to = image.pixels;
  for (int64_t y = 0; y < image.h; ++y) {
    const auto fy = static_cast<float>(y);
    for (int64_t x = 0; x < image.w; ++x, to += image.c) {
      const auto fx = static_cast<float>(x);
      const auto nearest = [&](float at, int64_t size) {
        return far_source_of(static_cast<int64_t>(std::floor(at + 0.5f)), size,
                             border);
      };
      const int64_t from_y =
          nearest(place.yy * fy + place.yx * fx + place.y0, image.h);
      const int64_t from_x =
          nearest(place.xy * fy + place.xx * fx + place.x0, image.w);
      if (from_y < 0 || from_x < 0) {
        std::fill(to, to + image.c, 0.0f);
      } else {
        std::copy_n(scratch.data() + (from_y * image.w + from_x) * image.c,
                    image.c, to);
      }
    }
  }
}

/// Bilinear resampling between pixel centers; nearest-neighbor for class masks.
void resample(const Image& image, const Placement& place, Border border,
              Scratch& scratch) {
  if (image.classes) {
    resample_nearest(image, place, border, scratch);
    return;
  }
  scratch.assign(image.pixels, image.pixels + image.size());
  const int64_t c = image.c;
  const auto at = [&](int64_t y, int64_t x) -> const float* {
    y = far_source_of(y, image.h, border);
    x = far_source_of(x, image.w, border);
    return y < 0 || x < 0 ? nullptr : scratch.data() + (y * image.w + x) * c;
  };
  float* to = image.pixels;
  for (int64_t y = 0; y < image.h; ++y) {
    const auto fy = static_cast<float>(y);
    for (int64_t x = 0; x < image.w; ++x, to += c) {
      const auto fx = static_cast<float>(x);
      const float from_y = place.yy * fy + place.yx * fx + place.y0;
      const float from_x = place.xy * fy + place.xx * fx + place.x0;
      const float floor_y = std::floor(from_y);
      const float floor_x = std::floor(from_x);
      const float wy = from_y - floor_y;
      const float wx = from_x - floor_x;
      const auto iy = static_cast<int64_t>(floor_y);
      const auto ix = static_cast<int64_t>(floor_x);
      const float weights[4] = {(1 - wy) * (1 - wx), (1 - wy) * wx,
                                wy * (1 - wx), wy * wx};
      if (iy >= 0 && ix >= 0 && iy + 1 < image.h && ix + 1 < image.w) {
        const float* a = scratch.data() + (iy * image.w + ix) * c;
        const float* b = a + image.w * c;
        for (int64_t k = 0; k < c; ++k) {
          to[k] = weights[0] * a[k] + weights[1] * a[k + c] +
                  weights[2] * b[k] + weights[3] * b[k + c];
        }
        continue;
      }
      const float* corners[4] = {at(iy, ix), at(iy, ix + 1), at(iy + 1, ix),
                                 at(iy + 1, ix + 1)};
      for (int64_t k = 0; k < c; ++k) {
        float sum = 0;
        for (int i = 0; i < 4; ++i) {
          if (corners[i] != nullptr) sum += weights[i] * corners[i][k];
        }
        to[k] = sum;
      }
    }
  }
}

}  // namespace

std::shared_ptr<const Transform> random_flip(const RandomFlipOptions& options) {
  return image_transform("random_flip", Changes::places,
                         [options](const Image& image, Rng& rng, Scratch&) {
                           // Always draws both, so that the options are
                           // independent.
                           const bool horizontal = rng.uniform() < 0.5f;
                           const bool vertical = rng.uniform() < 0.5f;
                           if (options.horizontal && horizontal)
                             flip_rows(image);
                           if (options.vertical && vertical)
                             flip_columns(image);
                         });
}

std::shared_ptr<const Transform> random_crop(const RandomCropOptions& options) {
  constexpr int64_t kMost = 1 << 15;
  if (options.padding < 0 || options.padding > kMost) {
    throw ValueError("out_of_range", "random_crop",
                     fmt::format("padding must be in [0, {}], got {}", kMost,
                                 options.padding));
  }
  return image_transform(
      "random_crop", Changes::places,
      [options](const Image& image, Rng& rng, Scratch& scratch) {
        const int64_t places = 2 * options.padding + 1;
        const int64_t dy = rng.below(places) - options.padding;
        const int64_t dx = rng.below(places) - options.padding;
        move_by(image, dy, dx, options.border, scratch);
      },
      [options](int64_t h, int64_t w) {
        if (options.border == Border::reflect &&
            options.padding >= std::min(h, w)) {
          throw ShapeError(
              "invalid_shape", "random_crop",
              fmt::format("images must be larger than the reflected padding of "
                          "{}, got {}x{}",
                          options.padding, h, w));
        }
      });
}

std::shared_ptr<const Transform> random_shift(
    const RandomShiftOptions& options) {
  check_range("random_shift", "height", options.height, 0, 1);
  check_range("random_shift", "width", options.width, 0, 1);
  return image_transform(
      "random_shift", Changes::places,
      [options](const Image& image, Rng& rng, Scratch& scratch) {
        const float dy =
            draw(rng, options.height) * static_cast<float>(image.h);
        const float dx = draw(rng, options.width) * static_cast<float>(image.w);
        resample(image, {1, 0, dy, 0, 1, dx}, options.border, scratch);
      });
}

std::shared_ptr<const Transform> random_rotation90() {
  return image_transform(
      "random_rotation90", Changes::places,
      [](const Image& image, Rng& rng, Scratch&) {
        const int64_t quarters = rng.below(4);
        // A quarter turn counterclockwise is a transposition and a flip.
        if (quarters % 2 == 1) transpose_square(image);
        if (quarters == 1 || quarters == 2) flip_columns(image);
        if (quarters == 2 || quarters == 3) flip_rows(image);
      },
      [](int64_t h, int64_t w) {
        if (h == w) return;
        throw ShapeError(
            "invalid_shape", "random_rotation90",
            fmt::format("images must be square, got {}x{}. Hint: use "
                        "random_flip(), or random_rotation()",
                        h, w));
      });
}

std::shared_ptr<const Transform> random_rotation(
    const RandomRotationOptions& options) {
  check_range("random_rotation", "degrees", options.degrees, 0, 180);
  return image_transform(
      "random_rotation", Changes::places,
      [options](const Image& image, Rng& rng, Scratch& scratch) {
        const double angle =
            double{draw(rng, options.degrees)} * std::numbers::pi / 180;
        const auto cosine = static_cast<float>(std::cos(angle));
        const auto sine = static_cast<float>(std::sin(angle));
        const float y = static_cast<float>(image.h - 1) / 2;
        const float x = static_cast<float>(image.w - 1) / 2;
        resample(image,
                 {cosine, sine, y - cosine * y - sine * x, -sine, cosine,
                  x + sine * y - cosine * x},
                 options.border, scratch);
      });
}

}  // namespace octet::train
