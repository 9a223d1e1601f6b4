// Writes IDX files, plain and gzipped.
#pragma once

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <zlib.h>

namespace octet::io {

/// Returns the header for unsigned bytes.
inline std::string idx_header(const std::vector<uint32_t>& dims) {
  std::string bytes{'\0', '\0', '\x08', static_cast<char>(dims.size())};
  for (const uint32_t dim : dims) {
    for (int shift = 24; shift >= 0; shift -= 8) {
      bytes += static_cast<char>(dim >> shift & 0xff);
    }
  }
  return bytes;
}

/// Returns the contents as one gzip member.
inline std::string gzip(std::string_view contents) {
  z_stream stream{};
  if (deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, 16 + MAX_WBITS, 8,
                   Z_DEFAULT_STRATEGY) != Z_OK) {
    throw std::runtime_error("zlib cannot start");
  }
  std::string packed(deflateBound(&stream, static_cast<uLong>(contents.size())),
                     '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(contents.data()));
  stream.avail_in = static_cast<uInt>(contents.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  deflate(&stream, Z_FINISH);
  packed.erase(packed.size() - stream.avail_out);
  deflateEnd(&stream);
  return packed;
}

inline void put(const std::filesystem::path& path, std::string_view contents) {
  std::ofstream(path, std::ios::binary)
      .write(contents.data(), static_cast<std::streamsize>(contents.size()));
}

}  // namespace octet::io
