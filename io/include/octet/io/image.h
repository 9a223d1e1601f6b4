// Image files: PNG (libpng) and JPEG (libjpeg), as unsigned bytes.
//
// Stored values are used as they are: no gamma, color profile or orientation
// tag is applied. 16-bit values are scaled to 8 bits; palettes and grayscale of
// fewer bits are expanded.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

#include <octet/runtime/tensor.h>

namespace octet::io {

/// Limits of an image's size; larger images are rejected before allocation.
inline constexpr int64_t kLargestImageSide = int64_t{1} << 15;
inline constexpr int64_t kMostImagePixels = int64_t{1} << 26;

/// Reads an image.
/// Shapes: u8 [h,w,channels]. `channels` is 1 (gray), 3 (RGB), 4 (RGBA), or 0
/// for the file's own: 1, 2 (gray and alpha), 3 or 4. Color becomes gray as
/// 0.299 R + 0.587 G + 0.114 B, rounded to nearest; surplus alpha is dropped,
/// missing alpha is opaque.
/// Throws: IoError (missing, unreadable); FormatError, naming the file, if it
/// is not a valid image within the limits; UnsupportedError if Octet was built
/// without the library; ValueError for other `channels`.
Tensor read_image(const std::filesystem::path& path, int64_t channels = 0);

/// Reads a mask: the raw values of a PNG, which are palette indices or
/// grayscale of up to 8 bits.
/// Shapes: u8 [h,w].
/// Throws: as read_image(); FormatError for RGB, alpha or 16 bits, and for
/// JPEG, which is lossy.
Tensor read_mask(const std::filesystem::path& path);

/// Decodes the bytes of an image file. Throws: as read_image().
Tensor decode_image(std::string_view bytes, int64_t channels = 0);

/// Whether this build reads the format.
bool reads_png();
bool reads_jpeg();

}  // namespace octet::io
