#include "container.h"

#include <cstdint>

#include <fmt/format.h>

#include <octet/runtime/detail/crc32c.h>
#include <octet/runtime/error.h>

#include "config_bytes.h"
#include "little_endian.h"

namespace octet::session {
namespace {

constexpr uint32_t kVersion = 1;

// Positions of the header's fields. Sizes and offsets have 8 bytes, others 4.
constexpr size_t kVersionAt = 8;
constexpr size_t kFlagsAt = 12;  // 0
constexpr size_t kFileSizeAt = 16;
constexpr size_t kConfigSizeAt = 24;
constexpr size_t kWeightsAt = 32;
constexpr size_t kWeightsSizeAt = 40;
constexpr size_t kReservedAt = 48;    // 0
constexpr size_t kContentSumAt = 56;  // of the bytes after the header
constexpr size_t kHeaderSumAt = 60;   // of the bytes before it
constexpr size_t kHeaderBytes = 64;

size_t aligned(size_t size) {
  return (size + kAlignment - 1) / kAlignment * kAlignment;
}

void expect_sum(const char* part, uint32_t expected, std::string_view bytes) {
  const uint32_t sum = crc32c(bytes);
  if (sum == expected) return;
  throw FormatError(
      "checksum_mismatch", "checksum",
      fmt::format("{} damaged: expected {:08x}, got {:08x}. Hint: copy or "
                  "write the file again",
                  part, expected, sum));
}

void expect_whole(std::string_view bytes, uint64_t size) {
  if (bytes.size() < size) {
    throw FormatError("truncated_file", "session file",
                      fmt::format("must have {} bytes, got {}. Hint: copy or "
                                  "write the file again",
                                  size, bytes.size()));
  }
  if (bytes.size() > size) {
    throw FormatError(
        "malformed_file", "session file",
        fmt::format("{} bytes after its end", bytes.size() - size));
  }
}

void expect_magic(std::string_view bytes) {
  if (bytes.starts_with(kMagic)) return;
  if (bytes.size() > kMagic.size() && bytes.starts_with(kMagic.substr(0, 6))) {
    throw FormatError("malformed_file", "session file",
                      "line ends were converted. Hint: transfer it in binary "
                      "mode");
  }
  throw FormatError(
      "unsupported_format", "file",
      "expected a session file (.octet), got another kind of "
      "file. Hint: octet convert MODEL -o model.octet writes one");
}

}  // namespace

std::string container_bytes(const Config& configuration,
                            std::string_view weights) {
  std::string content;
  append_config(content, configuration);
  const size_t config_size = content.size();
  content.resize(aligned(content.size()));
  content += weights;

  std::string file(kMagic);
  append_number(file, kVersion);
  append_number(file, uint32_t{0});
  append_number(file, static_cast<uint64_t>(kHeaderBytes + content.size()));
  append_number(file, static_cast<uint64_t>(config_size));
  append_number(file,
                static_cast<uint64_t>(kHeaderBytes + aligned(config_size)));
  append_number(file, static_cast<uint64_t>(weights.size()));
  append_number(file, uint64_t{0});
  append_number(file, crc32c(content));
  append_number(file, crc32c(file));
  file += content;
  return file;
}

Container parse_container(std::string_view bytes) {
  expect_magic(bytes);
  if (bytes.size() < kHeaderBytes) expect_whole(bytes, kHeaderBytes);
  const auto version = number_at<uint32_t>(bytes, kVersionAt);
  if (version > kVersion) {
    throw UnsupportedError(
        "unsupported_version", "session file",
        fmt::format("version must be at most {}, got {}. Hint: read the file "
                    "with the version of Octet that wrote it",
                    kVersion, version));
  }
  expect_sum("the header is", number_at<uint32_t>(bytes, kHeaderSumAt),
             bytes.substr(0, kHeaderSumAt));
  expect_whole(bytes, number_at<uint64_t>(bytes, kFileSizeAt));
  expect_sum("the file is", number_at<uint32_t>(bytes, kContentSumAt),
             bytes.substr(kHeaderBytes));

  // A valid checksum does not prove that the sizes are.
  const auto config_size = number_at<uint64_t>(bytes, kConfigSizeAt);
  const auto weights_at = number_at<uint64_t>(bytes, kWeightsAt);
  const auto weights_size = number_at<uint64_t>(bytes, kWeightsSizeAt);
  const uint64_t size = bytes.size();
  const bool fits = version >= 1 && number_at<uint32_t>(bytes, kFlagsAt) == 0 &&
                    number_at<uint64_t>(bytes, kReservedAt) == 0 &&
                    weights_at % kAlignment == 0 &&
                    weights_at >= kHeaderBytes && weights_at <= size &&
                    weights_size == size - weights_at &&
                    config_size <= weights_at - kHeaderBytes;
  if (!fits) {
    throw FormatError(
        "malformed_file", "header",
        fmt::format("version {}, {} bytes of configuration and {} bytes of "
                    "weights at {} do not fit a file of {} bytes",
                    version, config_size, weights_size, weights_at, size));
  }
  return {
      .configuration = parse_config(bytes.substr(kHeaderBytes, config_size)),
      .weights = bytes.substr(weights_at, weights_size)};
}

}  // namespace octet::session
