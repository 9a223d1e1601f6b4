// float16 and bfloat16: such values are held as float32 and rounded where they
// are made, as a device does that computes in float32 and stores 16 bits.
#pragma once

#include <cstdint>

#include "node.h"

namespace octet::io::run {

/// Whether a number of onnx::TensorProto::DataType is float16 or bfloat16.
bool is_short_float(int32_t data_type);

/// The nearest number of that type, halves to even; infinity beyond its range.
/// REQUIRES: is_short_float(data_type).
float rounded_to(int32_t data_type, float x);

/// A value of that type: x, or a copy with its elements rounded.
/// REQUIRES: x is float32 and is_short_float(data_type).
Tensor rounded_to(const NodeContext& context, int32_t data_type,
                  const Tensor& x);

}  // namespace octet::io::run
