// Codes of activations in a byte each, as kernels::CodeTable multiplies them.
#pragma once

#include <octet/runtime/grid.h>

#include "kernels/kernels.h"

namespace octet {

/// Whether the grid's codes fit in bytes as code + zero_byte: at most 256
/// integers that hold zero, per tensor.
inline bool fits_bytes(const Grid& grid) {
  return !grid.empty() && !grid.per_channel() && grid.low <= 0 &&
         grid.high >= 0 && grid.high - grid.low <= 255;
}

/// Whether the grid's integers lie within [-128, 127]. Else they are seen as
/// unsigned ones.
inline bool fits_int8(const Grid& grid) {
  return grid.low >= -128 && grid.high <= 127;
}

/// The byte of code 0. Grids that fit in int8 share one: weights that follow
/// any of them are packed alike.
inline int zero_byte(const Grid& grid, const kernels::CodeTable& table) {
  if (table.seven_bits) return 0;
  return fits_int8(grid) ? 128 : -grid.low;
}

}  // namespace octet
