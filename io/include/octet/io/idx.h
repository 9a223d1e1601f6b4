// IDX, the file format of MNIST, plain or gzip-compressed.
//
// Format: two zero bytes, an element type (0x08: unsigned byte), the rank,
// one big-endian 32-bit size per dimension, then the elements.
// Source: Y. LeCun, "The MNIST database", file formats.
#pragma once

#include <filesystem>

#include <octet/runtime/tensor.h>

namespace octet::io {

/// Reads unsigned bytes as u8.
/// Throws: IoError (missing, unreadable); FormatError (truncated or corrupt
/// gzip, wrong magic number, another element type, a number of elements other
/// than the header's, more than 2^31 elements).
Tensor read_idx(const std::filesystem::path& path);

}  // namespace octet::io
