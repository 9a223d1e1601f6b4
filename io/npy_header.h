// The header of an NPY file: a Python dictionary with three entries. Internal
// to io.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include <octet/runtime/tensor.h>

namespace octet::io {

enum class NpyKind { f2, f4, f8, i1, u1, i4, i8, b1 };

struct NpyType {
  NpyKind kind = NpyKind::f4;
  bool big_endian = false;
  int64_t bytes = 4;          ///< per element, in the file
  DType stored = DType::f32;  ///< what it becomes
};

struct NpyHeader {
  NpyType type;
  bool fortran_order = false;
  std::vector<int64_t> dims;
};

/// Reads {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }: these
/// entries in any order, each once, and white space around them.
/// Throws: FormatError.
NpyHeader parse_npy_header(std::string_view text);

}  // namespace octet::io
