// Tables of functions of 16-bit integers, as in TensorFlow Lite's kernels.
// Source: tensorflow/lite/kernels/internal/common.h, LUTPopulate, LUTLookup,
// sigmoid_table_uint16; reference/softmax.h, SoftmaxInt16;
// reference/integer_ops/{logistic,tanh}.h.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "fixed_point.h"

namespace octet::io {

/// Values at 512 equal steps over the int16 range, and at its end.
using Int16Table = std::array<int16_t, 513>;

/// Tables of softmax, with 15 fractional bits.
struct SoftmaxTables {
  Int16Table exponentials;  ///< exp(x) for x in [-10, 0]
  Int16Table reciprocals;   ///< 1 / (1 + x) for x in [0, 1]
};
/// Computed in float32, as by TensorFlow Lite Micro.
const SoftmaxTables& softmax_tables();
/// Computed in float64, as by LiteRT.
const SoftmaxTables& softmax_tables64();
/// 1 / (1 + exp(-i / 24)) with 16 fractional bits, corrected for linear
/// interpolation.
const std::array<uint16_t, 256>& sigmoid_table();

/// Returns the function of x, interpolated linearly.
inline int16_t looked_up(int16_t x, const Int16Table& table) {
  const auto index = static_cast<size_t>(256 + (x >> 7));
  const int32_t slope = table[index + 1] - table[index];
  return static_cast<int16_t>(table[index] + ((slope * (x & 127) + 64) >> 7));
}

/// Conversion of quantized inputs to units of 1 / (3 * 4096):
/// x * multiplier / 2^shift, rounded.
struct SigmoidInput {
  int32_t multiplier = 0;
  int shift = 0;
};
/// Scales 2^(shift - 12) with shift in [0, largest_shift] are converted
/// exactly. `largest_shift` is 0 for the sigmoid and 1 for tanh.
SigmoidInput sigmoid_input(float scale, int largest_shift);

/// Return the function of a quantized input, with output scale 1 / 32768.
int16_t sigmoid16(int16_t x, const SigmoidInput& input);
int16_t tanh16(int16_t x, const SigmoidInput& input);

/// Computes a row of softmax with output scale 1 / 32768. `factor` converts
/// differences of inputs to steps of 10 / 65535. x and y may be equal.
void softmax16(const int16_t* x, int16_t* y, int64_t count,
               const FixedFactor& factor, const SoftmaxTables& tables);

}  // namespace octet::io
