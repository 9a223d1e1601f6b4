// Quantized activations as bytes, the operands of kernels::CodeTable.
#pragma once

#include <octet/runtime/quantization.h>

#include "kernels/kernels.h"

namespace octet {

/// Whether quantized values fit in bytes as q + zero_byte: per tensor, a range
/// of at most 256 integers that includes 0.
inline bool fits_bytes(const QuantParams& qparams) {
  return !qparams.empty() && qparams.plain_integer() &&
         !qparams.per_channel() && qparams.low <= 0 && qparams.high >= 0 &&
         qparams.high - qparams.low <= 255;
}

/// Whether the range lies within [-128, 127]. Other ranges are treated as
/// unsigned.
inline bool fits_int8(const QuantParams& qparams) {
  return qparams.low >= -128 && qparams.high <= 127;
}

/// The byte of quantized value 0. All ranges within int8 share it, so weights
/// are packed alike for their consumers.
inline int zero_byte(const QuantParams& qparams,
                     const kernels::CodeTable& table) {
  if (table.seven_bits) return 0;
  return fits_int8(qparams) ? 128 : -qparams.low;
}

}  // namespace octet
