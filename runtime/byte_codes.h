// Codes of activations in a byte each, as kernels::CodeTable multiplies them.
#pragma once

#include <octet/runtime/grid.h>

namespace octet {

/// Whether the grid's codes fit in bytes as code + zero_byte(grid): at most 256
/// integers that hold zero, per tensor.
inline bool fits_bytes(const Grid& grid) {
  return !grid.empty() && !grid.per_channel() && grid.low <= 0 &&
         grid.high >= 0 && grid.high - grid.low <= 255;
}

/// The byte of code 0. Grids within [-128, 127] share one: weights that follow
/// any of them are packed alike.
inline int zero_byte(const Grid& grid) {
  return grid.low >= -128 && grid.high <= 127 ? 128 : -grid.low;
}

}  // namespace octet
