// Quantized weights beyond the range of float16.
#pragma once

#include <onnx/onnx_pb.h>

namespace octet::io {

/// Smallest scale that float16 always represents with a relative error up to
/// 1/256: below it, the spacing of float16 exceeds 1/128 of the value.
inline constexpr float kLeastHalfScale = 0x1p-17f;

/// Sets channels of int8 weights whose products all round to 0 in float16 to 0,
/// with a scale that float16 represents; the float16 weights are the same.
/// Throws: ValueError for a weight beyond 65504, which would become infinite.
void fit_weights_to_float16(onnx::GraphProto& graph);

}  // namespace octet::io
