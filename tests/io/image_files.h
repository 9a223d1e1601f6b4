// Writes PNG and JPEG files.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <jpeglib.h>
#include <png.h>

namespace octet::io {

struct PngSpec {
  uint32_t width = 1;
  uint32_t height = 1;
  int color = PNG_COLOR_TYPE_GRAY;
  int bits = 8;
  bool interlaced = false;
  std::vector<png_color> palette = {};
  std::vector<uint8_t> palette_alpha = {};
};

/// `rows` holds the packed bytes of all rows.
inline std::string png_bytes(const PngSpec& spec,
                             const std::vector<uint8_t>& rows) {
  std::string bytes;
  png_structp png =
      png_create_write_struct(PNG_LIBPNG_VER_STRING, nullptr, nullptr, nullptr);
  png_infop info = png_create_info_struct(png);
  png_set_write_fn(
      png, &bytes,
      [](png_structp p, png_bytep data, size_t count) {
        static_cast<std::string*>(png_get_io_ptr(p))
            ->append(reinterpret_cast<const char*>(data), count);
      },
      [](png_structp) {});
  png_set_IHDR(png, info, spec.width, spec.height, spec.bits, spec.color,
               spec.interlaced ? PNG_INTERLACE_ADAM7 : PNG_INTERLACE_NONE,
               PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  if (!spec.palette.empty()) {
    png_set_PLTE(png, info, spec.palette.data(),
                 static_cast<int>(spec.palette.size()));
  }
  if (!spec.palette_alpha.empty()) {
    png_set_tRNS(png, info, spec.palette_alpha.data(),
                 static_cast<int>(spec.palette_alpha.size()), nullptr);
  }
  png_write_info(png, info);
  const size_t row_bytes = png_get_rowbytes(png, info);
  if (row_bytes * spec.height != rows.size()) {
    throw std::runtime_error("png_bytes: rows of another size");
  }
  std::vector<png_bytep> pointers(spec.height);
  for (size_t y = 0; y < pointers.size(); ++y) {
    pointers[y] = const_cast<png_bytep>(rows.data()) + y * row_bytes;
  }
  png_write_image(png, pointers.data());
  png_write_end(png, info);
  png_destroy_write_struct(&png, &info);
  return bytes;
}

/// Shapes: pixels [height,width,channels], channels 1 or 3 (RGB), or 4 (CMYK).
inline std::string jpeg_bytes(uint32_t width, uint32_t height, int channels,
                              const std::vector<uint8_t>& pixels,
                              bool progressive = false,
                              const std::vector<jpeg_scan_info>& scans = {}) {
  jpeg_compress_struct jpeg{};
  jpeg_error_mgr errors{};
  jpeg.err = jpeg_std_error(&errors);
  jpeg_create_compress(&jpeg);
  unsigned char* data = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&jpeg, &data, &size);
  jpeg.image_width = width;
  jpeg.image_height = height;
  jpeg.input_components = channels;
  jpeg.in_color_space =
      channels == 1 ? JCS_GRAYSCALE : (channels == 3 ? JCS_RGB : JCS_CMYK);
  jpeg_set_defaults(&jpeg);
  jpeg_set_quality(&jpeg, 95, TRUE);
  if (progressive) jpeg_simple_progression(&jpeg);
  if (!scans.empty()) {
    jpeg.scan_info = scans.data();
    jpeg.num_scans = static_cast<int>(scans.size());
  }
  jpeg_start_compress(&jpeg, TRUE);
  while (jpeg.next_scanline < height) {
    JSAMPROW row =
        const_cast<JSAMPROW>(pixels.data()) +
        size_t{jpeg.next_scanline} * width * static_cast<size_t>(channels);
    jpeg_write_scanlines(&jpeg, &row, 1);
  }
  jpeg_finish_compress(&jpeg);
  std::string bytes(reinterpret_cast<const char*>(data), size);
  jpeg_destroy_compress(&jpeg);
  std::free(data);
  return bytes;
}

/// An image that is smooth enough for JPEG. Shapes: [height,width,channels].
inline std::vector<uint8_t> gradient_pixels(uint32_t width, uint32_t height,
                                            int channels) {
  std::vector<uint8_t> pixels;
  for (uint32_t y = 0; y < height; ++y) {
    for (uint32_t x = 0; x < width; ++x) {
      for (int c = 0; c < channels; ++c) {
        pixels.push_back(
            static_cast<uint8_t>((x * 120 / width + y * 100 / height +
                                  static_cast<uint32_t>(c) * 15) &
                                 0xff));
      }
    }
  }
  return pixels;
}

}  // namespace octet::io
