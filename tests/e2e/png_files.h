// Writes gray PNG files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <zlib.h>

namespace octet {

inline std::string big_endian(size_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) {
    bytes += static_cast<char>(value >> shift & 0xff);
  }
  return bytes;
}

inline std::string png_chunk(const std::string& type, const std::string& body) {
  const std::string data = type + body;
  const uLong crc =
      crc32(0, reinterpret_cast<const Bytef*>(data.data()), uInt(data.size()));
  return big_endian(body.size()) + data + big_endian(crc);
}

/// Returns a gray PNG with rows of `width` pixels.
inline std::string png_file(size_t width, const std::vector<uint8_t>& pixels) {
  std::string rows;
  for (size_t i = 0; i < pixels.size(); ++i) {
    if (i % width == 0) rows += '\0';  // filter of the row: none
    rows += static_cast<char>(pixels[i]);
  }
  uLongf size = compressBound(uLong(rows.size()));
  std::string packed(size, '\0');
  compress(reinterpret_cast<Bytef*>(packed.data()), &size,
           reinterpret_cast<const Bytef*>(rows.data()), uLong(rows.size()));
  packed.resize(size);
  return "\x89PNG\r\n\x1a\n" +
         png_chunk("IHDR", big_endian(width) +
                               big_endian(pixels.size() / width) +
                               std::string("\x08\0\0\0\0", 5)) +
         png_chunk("IDAT", packed) + png_chunk("IEND", "");
}

}  // namespace octet
