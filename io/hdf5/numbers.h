// Element types: libhdf5 copies bytes; this module interprets them as numbers.
// Internal to io/hdf5.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include <hdf5.h>

namespace octet::io {

struct NumberFormat {
  enum class Kind { half, bfloat, single, real, integer, natural, boolean };

  Kind kind = Kind::single;
  size_t bytes = 4;
  bool swapped = false;  ///< big-endian

  bool is_float() const { return kind <= Kind::real; }
  bool is_integer() const {
    return kind == Kind::integer || kind == Kind::natural;
  }
};

/// Returns nothing for types other than IEEE 754 numbers, bfloat16, integers of
/// 1, 2, 4 or 8 bytes and h5py's bool.
std::optional<NumberFormat> number_format(hid_t type);

/// "float32", "big-endian int64", "a compound type": for messages.
std::string type_text(hid_t type);

/// Returns element `index` of an array in the file's format.
/// REQUIRES: a float format.
double float_at(const char* data, size_t index, const NumberFormat& format);
/// Returns nothing above 2^63 - 1. REQUIRES: not a float format.
std::optional<int64_t> integer_at(const char* data, size_t index,
                                  const NumberFormat& format);

/// Converts to f32; doubles are rounded to nearest. REQUIRES: a float format.
void to_floats(const char* data, const NumberFormat& format,
               std::span<float> out);

}  // namespace octet::io
