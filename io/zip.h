// Reads named members of a ZIP archive in memory, as Python's zipfile writes
// it. Nothing is written to disk; other members are not decompressed. Internal
// to io.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

namespace octet::io {

struct ZipLimits {
  int64_t most_bytes = int64_t{1} << 31;  ///< of a decompressed member
  /// Decompressed to compressed size of members above `any_ratio_bytes`. The
  /// maximum of deflate is 1032, for zeros.
  int64_t most_ratio = 100;
  int64_t any_ratio_bytes = int64_t{1} << 26;
};

/// Whether the contents start like a non-empty ZIP archive.
bool is_zip(std::string_view contents);

/// Returns the decompressed contents of the `wanted` members that exist, stored
/// or deflated. Checks CRCs, and the central directory against each header.
/// Throws: FormatError (damaged, duplicate names or too large),
/// UnsupportedError (encrypted, ZIP64, several disks, other compression).
/// Source: PKWARE, APPNOTE.TXT 6.3.10, 4.3 and 4.4.
std::map<std::string, std::string> read_zip(
    std::string_view contents, std::span<const std::string_view> wanted,
    const ZipLimits& limits = {});

}  // namespace octet::io
