// The checksum at the end of Octet's HDF5 files. libhdf5 ignores what follows
// the end that a file's superblock states. Internal to io.
#pragma once

#include <string>
#include <string_view>

namespace octet::io {

/// The image with 20 bytes after it: "OCTETSUM", the length of the image (8
/// bytes) and the CRC-32C of everything before it (4), little-endian.
std::string with_checksum(std::string image);

/// The image in `contents`, whose checksum is right.
/// Throws: FormatError saying what is wrong.
std::string_view verify_checksum(std::string_view contents);
/// Whether `contents` end as with_checksum() leaves them, damaged or not.
bool has_checksum(std::string_view contents);
/// The length of such an end in bytes.
extern const size_t kChecksumBytes;

}  // namespace octet::io
