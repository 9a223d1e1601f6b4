#include "checksum.h"

#include <cstdint>

#include <fmt/format.h>

#include <octet/runtime/error.h>

#include "crc32c.h"
#include "elements.h"

namespace octet::io {
namespace {

constexpr std::string_view kMagic = "OCTETSUM";
constexpr size_t kSumBytes = 4;

void append(std::string& to, uint64_t value, size_t bytes) {
  for (size_t i = 0; i < bytes; ++i) {
    to += static_cast<char>(value >> 8 * i & 0xff);
  }
}

}  // namespace

const size_t kChecksumBytes = kMagic.size() + 8 + kSumBytes;

bool has_checksum(std::string_view contents) {
  return contents.size() >= kChecksumBytes &&
         contents.substr(contents.size() - kChecksumBytes).starts_with(kMagic);
}

std::string with_checksum(std::string image) {
  const uint64_t length = image.size();
  image += kMagic;
  append(image, length, 8);
  append(image, crc32c(image), kSumBytes);
  return image;
}

std::string_view verify_checksum(std::string_view contents) {
  if (contents.size() < kChecksumBytes) {
    throw FormatError("truncated_file", "checksum",
                      fmt::format("expected a file of at least {} bytes, got "
                                  "{}: it is truncated or not an Octet file",
                                  kChecksumBytes, contents.size()));
  }
  const std::string_view image =
      contents.substr(0, contents.size() - kChecksumBytes);
  const std::string_view tail = contents.substr(image.size());
  if (!has_checksum(contents)) {
    throw FormatError("checksum_mismatch", "checksum",
                      "not found at the end of the file: it is truncated, was "
                      "changed by another program or is not an Octet file");
  }
  const auto length = element<uint64_t>(tail.data() + kMagic.size(), false);
  if (length != image.size()) {
    throw FormatError(
        "checksum_mismatch", "checksum",
        fmt::format("expected {} bytes before it, got {}: the file is damaged",
                    length, image.size()));
  }
  const auto sum =
      element<uint32_t>(tail.data() + tail.size() - kSumBytes, false);
  const uint32_t found =
      crc32c(contents.substr(0, contents.size() - kSumBytes));
  if (sum != found) {
    throw FormatError(
        "checksum_mismatch", "checksum",
        fmt::format("expected {:08x}, got {:08x}: the file is damaged", sum,
                    found));
  }
  return image;
}

}  // namespace octet::io
