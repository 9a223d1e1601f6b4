// Image fits: stretch, crop, center crop and letterbox.
#include <algorithm>
#include <cmath>
#include <string>

#include <fmt/format.h>

#include <octet/io/detail/checks.h>
#include <octet/io/image.h>
#include <octet/runtime/error.h>

#include "resize.h"

namespace octet::io {
namespace {

/// Size of the resized image, and the part of it to compute.
struct Geometry {
  Size2 whole;
  Range rows, columns;
};

/// Returns the size of the largest part with the aspect ratio of `size`.
/// Source: keras/src/utils/image_utils.py, smart_resize.
Size2 crop_size(Size2 image, Size2 size) {
  return {std::clamp<int64_t>(image.w * size.h / size.w, 1, image.h),
          std::clamp<int64_t>(image.h * size.w / size.h, 1, image.w)};
}

/// Returns the centered part of crop_size().
Tensor cropped_to(const Tensor& image, Size2 size) {
  const Shape& shape = image.shape();
  const int64_t h = shape[0], w = shape[1];
  const auto [crop_h, crop_w] = crop_size({h, w}, size);
  const int64_t top = (h - crop_h) / 2, left = (w - crop_w) / 2;
  const int64_t c = shape.size() / (h * w);
  Tensor part(shape.with(0, crop_h).with(1, crop_w), DType::u8);
  for (int64_t y = 0; y < crop_h; ++y) {
    std::copy_n(image.data<uint8_t>().data() + ((top + y) * w + left) * c,
                crop_w * c, part.data<uint8_t>().data() + y * crop_w * c);
  }
  return part;
}

/// Half of an extent, ties to even, as in Python's round().
int64_t half(int64_t extent) {
  return std::llrint(static_cast<double>(extent) / 2);
}

/// Source: torchvision/transforms/functional.py, resize and center_crop; timm
/// for the ratio.
Geometry center_crop(Size2 image, Size2 size, const Resize& resize) {
  Size2 whole = size;
  const int64_t shorter = std::min(image.h, image.w);
  if (resize.resize_size > 0 || size.h == size.w) {
    const int64_t side =
        resize.resize_size > 0
            ? resize.resize_size
            : static_cast<int64_t>(
                  std::floor(static_cast<double>(size.h) / resize.crop_ratio));
    whole = {side * image.h / shorter, side * image.w / shorter};
  } else {
    const auto scale_of = [&](int64_t to, int64_t from) {
      return static_cast<double>(to) /
             (resize.crop_ratio * static_cast<double>(from));
    };
    const double scale =
        std::max(scale_of(size.h, image.h), scale_of(size.w, image.w));
    const auto scaled = [&](int64_t side, int64_t least) {
      return std::max(
          least,
          static_cast<int64_t>(std::floor(static_cast<double>(side) * scale)));
    };
    whole = {scaled(image.h, size.h), scaled(image.w, size.w)};
  }
  return {whole,
          {half(whole.h - size.h), size.h},
          {half(whole.w - size.w), size.w}};
}

Geometry geometry_of(Size2 image, Size2 size, const Resize& resize) {
  if (resize.fit == ImageFit::center_crop) {
    return center_crop(image, size, resize);
  }
  return {size, {0, size.h}, {0, size.w}};
}

double ratio(int64_t to, int64_t from) {
  return static_cast<double>(to) / static_cast<double>(from);
}

/// Returns the size of an image inside a letterbox.
/// Source: ultralytics/data/augment.py, LetterBox.
Size2 inner_size(Size2 image, Size2 size) {
  const double scale = std::min(ratio(size.h, image.h), ratio(size.w, image.w));
  const auto scaled = [&](int64_t side, int64_t most) {
    return std::clamp<int64_t>(std::llrint(static_cast<double>(side) * scale),
                               1, most);
  };
  return {scaled(image.h, size.h), scaled(image.w, size.w)};
}

Tensor letterbox(const Tensor& image, Size2 size, const Resize& resize) {
  const Shape& shape = image.shape();
  const Size2 inner = inner_size({shape[0], shape[1]}, size);
  const Tensor part =
      resize_part(image, inner, {0, inner.h}, {0, inner.w}, resize.filter);
  const int64_t c = shape[2];
  Tensor result(Shape{size.h, size.w, c}, DType::u8);
  std::ranges::fill(result.data<uint8_t>(),
                    static_cast<uint8_t>(resize.pad_value));
  const int64_t top = (size.h - inner.h) / 2, left = (size.w - inner.w) / 2;
  for (int64_t y = 0; y < inner.h; ++y) {
    std::copy_n(
        part.data<uint8_t>().data() + y * inner.w * c, inner.w * c,
        result.data<uint8_t>().data() + ((top + y) * size.w + left) * c);
  }
  return result;
}

}  // namespace

void check_resize(std::string_view subject, Size2 size, const Resize& resize) {
  if (resize.fit == ImageFit::pad &&
      (resize.pad_value < 0 || resize.pad_value > 255)) {
    throw ValueError("out_of_range", fmt::format("{} pad_value", subject),
                     fmt::format("must be 0 to 255, got {}", resize.pad_value));
  }
  if (resize.fit != ImageFit::center_crop) return;
  // The negated condition also rejects NaN.
  if (!(resize.crop_ratio >= 0.01 && resize.crop_ratio <= 1)) {
    throw ValueError(
        "out_of_range", fmt::format("{} crop_ratio", subject),
        fmt::format("must be 0.01 to 1, got {}", resize.crop_ratio));
  }
  const int64_t least = std::max(size.h, size.w);
  if (resize.resize_size == 0 ||
      (resize.resize_size >= least && resize.resize_size <= 100 * least)) {
    return;
  }
  throw ValueError(
      "out_of_range", fmt::format("{} resize_size", subject),
      fmt::format(
          "must be 1 to 100 times the size of the crop, {}x{}, got {}. Hint: "
          "'crop 256' sets the shorter side in pixels, 'crop 0.875' a ratio",
          size.h, size.w, resize.resize_size));
}

Tensor resize_image(const Tensor& image, Size2 size, const Resize& resize) {
  check_pixels(image, 3, size);
  check_resize("resize", size, resize);
  if (resize.fit == ImageFit::pad) return letterbox(image, size, resize);
  const Tensor part =
      resize.fit == ImageFit::crop ? cropped_to(image, size) : image;
  const Geometry g =
      geometry_of({part.shape()[0], part.shape()[1]}, size, resize);
  return resize_part(part, g.whole, g.rows, g.columns, resize.filter);
}

ImagePlacement image_placement(Size2 image, Size2 size, const Resize& resize) {
  if (image.h < 1 || image.w < 1 || size.h < 1 || size.w < 1) {
    throw ValueError("out_of_range", "image_placement",
                     fmt::format("sizes must be >= 1, got {}x{} and {}x{}",
                                 image.h, image.w, size.h, size.w));
  }
  check_resize("resize", size, resize);
  if (resize.fit == ImageFit::pad) {
    const Size2 inner = inner_size(image, size);
    return {.left = static_cast<double>((size.w - inner.w) / 2),
            .top = static_cast<double>((size.h - inner.h) / 2),
            .scale_x = ratio(inner.w, image.w),
            .scale_y = ratio(inner.h, image.h)};
  }
  if (resize.fit == ImageFit::crop) {
    const auto [h, w] = crop_size(image, size);
    const double scale_x = ratio(size.w, w), scale_y = ratio(size.h, h);
    return {.left = -scale_x * static_cast<double>((image.w - w) / 2),
            .top = -scale_y * static_cast<double>((image.h - h) / 2),
            .scale_x = scale_x,
            .scale_y = scale_y};
  }
  const Geometry g = geometry_of(image, size, resize);
  return {.left = -static_cast<double>(g.columns.first),
          .top = -static_cast<double>(g.rows.first),
          .scale_x = ratio(g.whole.w, image.w),
          .scale_y = ratio(g.whole.h, image.h)};
}

Tensor resize_mask(const Tensor& mask, Size2 size, const Resize& resize) {
  check_pixels(mask, 2, size);
  if (resize.fit == ImageFit::pad) {
    throw ValueError("conflicting_options", "resize",
                     "masks cannot be padded, because a border has no class. "
                     "Hint: use ImageFit::crop or center_crop");
  }
  Resize nearest = resize;
  nearest.filter = ResizeFilter::nearest;
  const Shape& shape = mask.shape();
  return resize_image(mask.reshaped({shape[0], shape[1], 1}), size, nearest)
      .reshaped({size.h, size.w});
}

}  // namespace octet::io
