// Images in files: PNG (libpng) and JPEG (libjpeg), as unsigned bytes.
//
// Values are taken as they are stored: no gamma, colour profile or
// orientation tag is applied. Sixteen bits are scaled to eight, palettes and
// grey of fewer bits are expanded.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

#include <octet/runtime/tensor.h>

namespace octet::io {

/// Sizes beyond these are refused before memory is asked for.
inline constexpr int64_t kLargestImageSide = int64_t{1} << 15;
inline constexpr int64_t kMostImagePixels = int64_t{1} << 26;

/// Shapes: u8 [h,w,channels]. `channels` is 1 (grey), 3 (RGB), 4 (RGBA), or 0
/// for what the file has: 1, 2 (grey with alpha), 3 or 4. Colour becomes grey
/// as 0.299 R + 0.587 G + 0.114 B, rounded to nearest; an alpha channel that
/// is not wanted is dropped, one that is missing is opaque.
/// Throws: IoError (missing, unreadable); FormatError, naming the file, for
/// anything but a sound image within the limits; UnsupportedError if Octet
/// was built without the library; ValueError for other `channels`.
Tensor read_image(const std::filesystem::path& path, int64_t channels = 0);

/// The numbers that a PNG holds, without colours: those of a palette's entries,
/// or of grey of up to 8 bits. Masks are stored so.
/// Shapes: u8 [h,w]. Throws: as read_image(); FormatError for colours, alpha or
/// 16 bits, and for a JPEG, whose pixels are not those that were written.
Tensor read_mask(const std::filesystem::path& path);

/// The same for the bytes of a file. Throws: as read_image().
Tensor decode_image(std::string_view bytes, int64_t channels = 0);

/// Which formats this build reads.
bool reads_png();
bool reads_jpeg();

}  // namespace octet::io
