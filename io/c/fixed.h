// The fixed form of requantization: factors of 32-bit integers, as in
// TensorFlow Lite, and its limits.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <octet/runtime/tensor.h>

#include "fixed_point.h"
#include "network.h"

namespace octet::io::c {

/// Returns the factor by which operands of a sum are multiplied before scaling.
inline int32_t sum_unit(const PortableQuant& quant) {
  return 1 << (is_wide(quant) ? 15 : 20);
}

/// Returns the scale of a quantized buffer.
double scale_of(const PortableBuffer& buffer);

/// Returns the step with nonnegative factors: channels with a negative factor
/// of batch normalization have their weights negated.
PortableLinear with_positive_factors(PortableLinear step);

/// Bias in units of the sums, rounded, ties away from zero; empty without bias.
std::vector<int64_t> integer_bias(const PortableLinear& step);

/// Integers of an epilogue: q = clamp(zero + v' * factor), v' = v + bias, or
/// the sum of q and another value. Ranges are of stored values.
struct FixedEpilogue {
  std::vector<int64_t> bias = {};         ///< per channel; empty: 0
  std::vector<FixedFactor> factors = {};  ///< one or per channel; empty: 1
  int zero = 0, low = -128, high = 127;
  bool adds = false;
  FixedFactor own = {}, others = {}, sum = {};
  int sum_zero = 0, sum_low = 0, sum_high = 0;
};
/// `x`: buffer of the step; `linear`: the step, or null for an evaluation.
FixedEpilogue fixed_epilogue_of(const PortableProgram& program,
                                const PortableEpilogue& e, int x,
                                const PortableLinear* linear);

/// Parameters of softmax: factor of the differences of inputs, and for int8 the
/// lowest difference with an effect.
struct FixedSoftmax {
  FixedFactor factor;
  int32_t least = 0;
};
FixedSoftmax fixed_softmax(const PortableBuffer& x);

/// Returns the outputs [1,...] i8 or i16 of a program for stored inputs,
/// computed by plain loops.
std::vector<Tensor> run_fixed(const PortableProgram& program,
                              std::span<const Tensor> inputs);

/// Replaces weights that a step multiplies as floats by their quantized values,
/// if they have INT8 scales and the step's input is quantized.
void use_int8_weights(PortableProgram& program);

/// Returns why steps of a simplified program have no fixed form: "'head': its
/// output is float".
std::vector<std::string> fixed_obstacles(const PortableProgram& program);

}  // namespace octet::io::c
