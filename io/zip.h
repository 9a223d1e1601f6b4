// Named members of a ZIP archive in memory, as Python's zipfile writes it.
// Nothing goes to the disk, and members that are not asked for are not looked
// into. Internal to io.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

namespace octet::io {

struct ZipLimits {
  int64_t most_bytes = int64_t{1} << 31;  ///< of a member, unpacked
  /// Unpacked to packed, of members above `any_ratio_bytes`: 1032 is the most
  /// that deflate can do, with zeros.
  int64_t most_ratio = 100;
  int64_t any_ratio_bytes = int64_t{1} << 26;
};

/// Whether the contents of a file start like a ZIP archive with members.
bool is_zip(std::string_view contents);

/// The unpacked contents of those of `wanted` that are there. Stored and
/// deflated members are read; their CRC is checked, and the central directory
/// is compared with the header before each.
/// Throws: FormatError (damaged, names that come twice, or too large),
/// UnsupportedError (encrypted, ZIP64, several disks, other compression).
/// Source: PKWARE, APPNOTE.TXT 6.3.10, 4.3 and 4.4.
std::map<std::string, std::string> read_zip(
    std::string_view contents, std::span<const std::string_view> wanted,
    const ZipLimits& limits = {});

}  // namespace octet::io
