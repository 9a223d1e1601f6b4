// Checksum at the end of Octet's HDF5 files. libhdf5 ignores bytes after the
// end of file that the superblock states. Internal to io.
#pragma once

#include <string>
#include <string_view>

namespace octet::io {

/// Returns the image followed by 20 bytes: "OCTETSUM", the length of the image
/// (8 bytes) and the CRC-32C of everything before it (4), little-endian.
std::string with_checksum(std::string image);

/// Returns the image in `contents`.
/// Throws: FormatError if the checksum is missing or wrong.
std::string_view verify_checksum(std::string_view contents);
/// Whether `contents` end like with_checksum(), even if damaged.
bool has_checksum(std::string_view contents);
/// Number of bytes that with_checksum() appends.
extern const size_t kChecksumBytes;

}  // namespace octet::io
