#include <algorithm>
#include <string>

#include <fmt/format.h>

#include <octet/io/image.h>
#include <octet/runtime/error.h>

#include "file_kind.h"
#include "formats.h"

namespace octet::io {
namespace {

constexpr int64_t kLargestImageFile = int64_t{1} << 30;
constexpr std::string_view kImageFile = "a PNG or JPEG image";
constexpr std::string_view kMaskFile = "a PNG image";
constexpr std::string_view kPngMagic = "\x89PNG\r\n\x1a\n";
constexpr std::string_view kJpegMagic = "\xff\xd8\xff";

Tensor decode_as_stored(std::string_view bytes) {
  if (bytes.starts_with(kPngMagic)) return decode_png(bytes);
  if (bytes.starts_with(kJpegMagic)) return decode_jpeg(bytes);
  refuse_other_kind(kImageFile, bytes);
  throw FormatError("unsupported_format", "image",
                    "must be a PNG or JPEG file");
}

/// 0.299 R + 0.587 G + 0.114 B in thousandths, rounded to nearest.
/// Source: ITU-R BT.601, luma.
uint8_t luma(const uint8_t* rgb) {
  return static_cast<uint8_t>(
      (299 * rgb[0] + 587 * rgb[1] + 114 * rgb[2] + 500) / 1000);
}

/// Shapes: from [from_channels], to [to_channels].
void convert_pixel(const uint8_t* from, int64_t from_channels, uint8_t* to,
                   int64_t to_channels) {
  const bool color = from_channels >= 3;
  if (to_channels == 1) {
    to[0] = color ? luma(from) : from[0];
    return;
  }
  for (int64_t c = 0; c < 3; ++c) to[c] = from[color ? c : 0];
  if (to_channels == 4) {
    const bool alpha = from_channels % 2 == 0;
    to[3] = alpha ? from[from_channels - 1] : uint8_t{255};
  }
}

Tensor with_channels(const Tensor& image, int64_t channels) {
  const int64_t stored = image.shape()[2];
  if (channels == 0 || channels == stored) return image;
  Tensor result(image.shape().with(2, channels), DType::u8);
  const uint8_t* from = image.data<uint8_t>().data();
  uint8_t* to = result.data<uint8_t>().data();
  const int64_t pixels = image.shape()[0] * image.shape()[1];
  for (int64_t i = 0; i < pixels; ++i, from += stored, to += channels) {
    convert_pixel(from, stored, to, channels);
  }
  return result;
}

}  // namespace

void check_image_size(std::string_view format, uint64_t width,
                      uint64_t height) {
  constexpr auto kSide = static_cast<uint64_t>(kLargestImageSide);
  constexpr auto kPixels = static_cast<uint64_t>(kMostImagePixels);
  if (width < 1 || height < 1 || width > kSide || height > kSide ||
      width * height > kPixels) {
    throw FormatError(
        "size_limit", fmt::format("{} image", format),
        fmt::format("sides must be 1 to {} and pixels at most {}, got {}x{}",
                    kSide, kPixels, width, height));
  }
}

Tensor decode_image(std::string_view bytes, int64_t channels) {
  if (channels != 0 && channels != 1 && channels != 3 && channels != 4) {
    throw ValueError(
        "invalid_value", "image channels",
        fmt::format("must be 0 (as stored), 1, 3 or 4, got {}", channels));
  }
  return with_channels(decode_as_stored(bytes), channels);
}

Tensor read_image(const std::filesystem::path& path, int64_t channels) {
  const std::string bytes = read_file_as(kImageFile, path, kLargestImageFile);
  return with_context(
      [&] { return fmt::format("in file '{}'", path.string()); },
      [&] { return decode_image(bytes, channels); });
}

Tensor read_mask(const std::filesystem::path& path) {
  const std::string bytes = read_file_as(kMaskFile, path, kLargestImageFile);
  return with_context(
      [&] { return fmt::format("in file '{}'", path.string()); },
      [&] {
        if (bytes.starts_with(kPngMagic)) return decode_png_mask(bytes);
        if (bytes.starts_with(kJpegMagic)) {
          throw FormatError("unsupported_format", "mask",
                            "must be a PNG file, got JPEG, which is lossy. "
                            "Hint: save masks as PNG");
        }
        refuse_other_kind(kMaskFile, bytes);
        throw FormatError("unsupported_format", "mask", "must be a PNG file");
      });
}

}  // namespace octet::io
