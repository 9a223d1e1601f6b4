// Interface to libpng. Its errors longjmp, which runs no destructors: functions
// that call setjmp own nothing; their data is in a PngReader outside of them.
#include <csetjmp>
#include <cstring>
#include <vector>

#include <fmt/format.h>
#include <png.h>

#include <octet/io/image.h>
#include <octet/runtime/error.h>

#include "formats.h"

namespace octet::io {
namespace {

struct PngReader {
  explicit PngReader(std::string_view bytes) : rest(bytes) {}
  ~PngReader() { png_destroy_read_struct(&png, &info, nullptr); }
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;

  std::string_view rest;
  png_structp png = nullptr;
  png_infop info = nullptr;
  char message[128] = "not enough memory";

  bool mask = false;  // raw values of one channel
  png_uint_32 width = 0;
  png_uint_32 height = 0;
  int stored_bits = 0;  // per pixel, in the file
  int color = 0;        // PNG_COLOR_TYPE_...
  int depth = 0;        // bits of a channel, in the file
  int channels = 0;
};

[[noreturn]] void on_error(png_structp png, png_const_charp message) {
  auto* reader = static_cast<PngReader*>(png_get_error_ptr(png));
  std::strncpy(reader->message, message, sizeof reader->message - 1);
  png_longjmp(png, 1);
}

void on_warning(png_structp, png_const_charp) {}

void on_read(png_structp png, png_bytep out, size_t count) {
  auto* reader = static_cast<PngReader*>(png_get_io_ptr(png));
  if (count > reader->rest.size()) png_error(png, "the file is truncated");
  std::memcpy(out, reader->rest.data(), count);
  reader->rest.remove_prefix(count);
}

bool read_header(PngReader& reader) {
  reader.png = png_create_read_struct(PNG_LIBPNG_VER_STRING, &reader, on_error,
                                      on_warning);
  if (reader.png == nullptr) return false;
  reader.info = png_create_info_struct(reader.png);
  if (reader.info == nullptr) return false;
  if (setjmp(png_jmpbuf(reader.png)) != 0) return false;
  png_set_read_fn(reader.png, &reader, on_read);
  png_set_user_limits(reader.png, kLargestImageSide, kLargestImageSide);
  png_read_info(reader.png, reader.info);
  reader.width = png_get_image_width(reader.png, reader.info);
  reader.height = png_get_image_height(reader.png, reader.info);
  reader.color = png_get_color_type(reader.png, reader.info);
  reader.depth = png_get_bit_depth(reader.png, reader.info);
  reader.stored_bits = reader.depth * png_get_channels(reader.png, reader.info);
  if (reader.mask) {
    png_set_packing(reader.png);  // one byte per pixel, same value
  } else {
    png_set_expand(reader.png);    // palettes, few bits, transparency
    png_set_scale_16(reader.png);  // to 8 bits, rounded
  }
  png_set_interlace_handling(reader.png);
  png_read_update_info(reader.png, reader.info);
  reader.channels = png_get_channels(reader.png, reader.info);
  return reader.mask || png_get_bit_depth(reader.png, reader.info) == 8;
}

bool read_rows(PngReader& reader, png_bytepp rows) {
  if (setjmp(png_jmpbuf(reader.png)) != 0) return false;
  png_read_image(reader.png, rows);
  png_read_end(reader.png, nullptr);
  return true;
}

[[noreturn]] void fail(const PngReader& reader) {
  throw FormatError("malformed_file", "PNG image", reader.message);
}

/// Deflate compresses at most 1032 bytes into one: a short file with a large
/// image size is rejected before allocation.
/// Source: zlib, "zlib Technical Details", maximum compression factor.
void check_ratio(const PngReader& reader, size_t file_bytes) {
  constexpr uint64_t kBestRatio = 1032;
  const uint64_t promised = uint64_t{reader.width} * reader.height *
                            static_cast<uint64_t>(reader.stored_bits) / 8;
  if (promised / kBestRatio > file_bytes) {
    throw FormatError(
        "truncated_file", "PNG image",
        fmt::format("file of {} bytes is too short for {}x{} pixels",
                    file_bytes, reader.width, reader.height));
  }
}

void check_mask(const PngReader& reader) {
  const bool one = reader.color == PNG_COLOR_TYPE_GRAY ||
                   reader.color == PNG_COLOR_TYPE_PALETTE;
  if (one && reader.depth <= 8) return;
  throw FormatError(
      "unsupported_type", "mask",
      fmt::format("pixels must be gray or palette indices of up to 8 bits, got "
                  "{}. Hint: store the class of each pixel as gray",
                  !one ? reader.color == PNG_COLOR_TYPE_GRAY_ALPHA
                             ? "gray with alpha"
                             : "colors"
                       : "16 bits"));
}

Tensor read_pixels(PngReader& reader, size_t file_bytes) {
  if (!read_header(reader)) fail(reader);
  if (reader.mask) check_mask(reader);
  check_image_size("PNG", reader.width, reader.height);
  check_ratio(reader, file_bytes);
  Tensor image(
      Shape{int64_t{reader.height}, int64_t{reader.width}, reader.channels},
      DType::u8);
  const size_t row_bytes =
      size_t{reader.width} * static_cast<size_t>(reader.channels);
  std::vector<png_bytep> rows(reader.height);
  for (size_t y = 0; y < rows.size(); ++y) {
    rows[y] = image.data<uint8_t>().data() + y * row_bytes;
  }
  if (!read_rows(reader, rows.data())) fail(reader);
  return image;
}

}  // namespace

bool reads_png() { return true; }

Tensor decode_png(std::string_view bytes) {
  PngReader reader(bytes);
  return read_pixels(reader, bytes.size());
}

Tensor decode_png_mask(std::string_view bytes) {
  PngReader reader(bytes);
  reader.mask = true;
  const Tensor pixels = read_pixels(reader, bytes.size());
  return pixels.reshaped(pixels.shape().slice(0, 2));
}

}  // namespace octet::io
