// Quantized weights that float16 does not hold.
#pragma once

#include <onnx/onnx_pb.h>

namespace octet::io {

/// The least scale that float16 always holds to a 256th: below it, its steps
/// are wider than a 128th.
inline constexpr float kLeastHalfScale = 0x1p-17f;

/// Stores channels of int8 weights that are all 0 in float16 as 0, with a scale
/// that float16 holds: the same float16 weights. Throws: ValueError for a
/// weight beyond 65504, which would be infinite.
void fit_weights_to_float16(onnx::GraphProto& graph);

}  // namespace octet::io
