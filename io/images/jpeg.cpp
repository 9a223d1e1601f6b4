// Interface to libjpeg. Its errors longjmp, which runs no destructors:
// functions that call setjmp own nothing; their data is in a JpegReader outside
// of them.
#include <csetjmp>
#include <cstddef>
#include <cstdio>

#include <fmt/format.h>
// Requires <cstdio>.
#include <jerror.h>
#include <jpeglib.h>

#include <octet/io/image.h>
#include <octet/runtime/error.h>

#include "formats.h"

namespace octet::io {
namespace {

/// Limit of scans: a progressive file may have any number, each over all
/// pixels.
constexpr int kMostScans = 100;

struct JpegReader {
  explicit JpegReader(std::string_view source) : bytes(source) {}
  ~JpegReader() { jpeg_destroy_decompress(&jpeg); }
  JpegReader(const JpegReader&) = delete;
  JpegReader& operator=(const JpegReader&) = delete;

  std::string_view bytes;
  jpeg_decompress_struct jpeg{};  // zeros: can be destroyed
  jpeg_error_mgr errors{};
  jpeg_progress_mgr progress{};
  std::jmp_buf escape{};
  char message[JMSG_LENGTH_MAX] = "";
};

JpegReader& reader_of(j_common_ptr jpeg) {
  return *static_cast<JpegReader*>(jpeg->client_data);
}

[[noreturn]] void on_error(j_common_ptr jpeg) {
  JpegReader& reader = reader_of(jpeg);
  jpeg->err->format_message(jpeg, reader.message);
  std::longjmp(reader.escape, 1);
}

/// libjpeg replaces missing or corrupt data by gray pixels and reports it as a
/// message of level -1, which becomes an error here. Three such messages report
/// harmless oddities.
void on_message(j_common_ptr jpeg, int level) {
  const int code = jpeg->err->msg_code;
  if (level >= 0 || code == JWRN_EXTRANEOUS_DATA || code == JWRN_ADOBE_XFORM ||
      code == JWRN_JFIF_MAJOR) {
    return;
  }
  on_error(jpeg);
}

void on_progress(j_common_ptr jpeg) {
  JpegReader& reader = reader_of(jpeg);
  if (reader.jpeg.input_scan_number <= kMostScans) return;
  std::snprintf(reader.message, sizeof reader.message, "more than %d scans",
                kMostScans);
  std::longjmp(reader.escape, 1);
}

bool read_header(JpegReader& reader) {
  jpeg_decompress_struct& jpeg = reader.jpeg;
  jpeg.err = jpeg_std_error(&reader.errors);
  reader.errors.error_exit = on_error;
  reader.errors.emit_message = on_message;
  jpeg.client_data = &reader;
  if (setjmp(reader.escape) != 0) return false;
  jpeg_create_decompress(&jpeg);
  reader.progress.progress_monitor = on_progress;
  jpeg.progress = &reader.progress;
  jpeg_mem_src(&jpeg,
               reinterpret_cast<const unsigned char*>(reader.bytes.data()),
               static_cast<unsigned long>(reader.bytes.size()));
  jpeg_read_header(&jpeg, TRUE);
  return true;
}

/// Shapes: out [h,w,output_components].
bool read_rows(JpegReader& reader, uint8_t* out) {
  jpeg_decompress_struct& jpeg = reader.jpeg;
  if (setjmp(reader.escape) != 0) return false;
  jpeg_start_decompress(&jpeg);
  const size_t row_bytes =
      size_t{jpeg.output_width} * static_cast<size_t>(jpeg.output_components);
  while (jpeg.output_scanline < jpeg.output_height) {
    JSAMPROW row = out + size_t{jpeg.output_scanline} * row_bytes;
    jpeg_read_scanlines(&jpeg, &row, 1);
  }
  jpeg_finish_decompress(&jpeg);
  return true;
}

[[noreturn]] void fail(const JpegReader& reader) {
  throw FormatError("malformed_file", "JPEG image", reader.message);
}

}  // namespace

bool reads_jpeg() { return true; }

Tensor decode_jpeg(std::string_view bytes) {
  JpegReader reader(bytes);
  if (!read_header(reader)) fail(reader);
  jpeg_decompress_struct& jpeg = reader.jpeg;
  check_image_size("JPEG", jpeg.image_width, jpeg.image_height);
  if (jpeg.jpeg_color_space == JCS_CMYK || jpeg.jpeg_color_space == JCS_YCCK) {
    throw FormatError(
        "unsupported_type", "JPEG image",
        "CMYK colors are not supported. Hint: convert the file to RGB");
  }
  const bool gray = jpeg.jpeg_color_space == JCS_GRAYSCALE;
  jpeg.out_color_space = gray ? JCS_GRAYSCALE : JCS_RGB;
  // Results that do not depend on the machine.
  jpeg.dct_method = JDCT_ISLOW;
  Tensor image(Shape{int64_t{jpeg.image_height}, int64_t{jpeg.image_width},
                     gray ? 1 : 3},
               DType::u8);
  if (!read_rows(reader, image.data<uint8_t>().data())) fail(reader);
  return image;
}

}  // namespace octet::io
