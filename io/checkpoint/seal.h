// The checksum at the end of Octet's HDF5 files. libhdf5 ignores what follows
// the end that a file's superblock states. Internal to io.
#pragma once

#include <string>
#include <string_view>

namespace octet::io {

/// The image with 20 bytes behind it: "OCTETSUM", the length of the image (8
/// bytes) and the CRC-32C of everything before it (4), little-endian.
std::string sealed(std::string image);

/// The image in sealed contents. Throws: FormatError saying what is wrong.
std::string_view unsealed(std::string_view contents);
/// Whether `contents` end as sealed() leaves them, damaged or not.
bool is_sealed(std::string_view contents);
/// The bytes of such an end.
extern const size_t kSealBytes;

}  // namespace octet::io
