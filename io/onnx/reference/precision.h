// float16 and bfloat16: represented as float32 and rounded in node outputs, as
// on a device that computes in float32 and stores 16 bits.
#pragma once

#include <cstdint>

#include "node.h"

namespace octet::io::run {

/// Whether an onnx::TensorProto::DataType is float16 or bfloat16.
bool is_short_float(int32_t data_type);

/// Rounds to the nearest number of a type, half to even; infinity beyond its
/// range.
/// REQUIRES: is_short_float(data_type).
float rounded_to(int32_t data_type, float x);

/// Rounds the elements of a tensor; returns x itself if they are exact.
/// REQUIRES: x is float32 and is_short_float(data_type).
Tensor rounded_to(const NodeContext& context, int32_t data_type,
                  const Tensor& x);

}  // namespace octet::io::run
