// NPY, NumPy's file format for an array.
//
// Source: NumPy documentation, "numpy.lib.format", format versions 1.0 to 3.0.
#pragma once

#include <filesystem>

#include <octet/runtime/tensor.h>

namespace octet::io {

/// Reads f2, f4, f8, i1, u1, i4, i8 and booleans of either byte order. f2 and
/// f8 become f32; f8 is rounded to nearest, ties to even, and overflows to
/// infinity. Fortran order becomes C order.
/// Throws: IoError (missing, unreadable); FormatError for a damaged header,
/// another element type (objects, strings, records), more than 2^31 elements or
/// eight dimensions, or a data size other than the header's.
Tensor read_npy(const std::filesystem::path& path);

/// Writes version 1.0, little-endian, C order; equal tensors give equal bytes.
/// Throws: IoError; ValueError for an empty tensor.
void write_npy(const std::filesystem::path& path, const Tensor& tensor);

}  // namespace octet::io
