// Conversion to float16, for engines that take types from the file.
#pragma once

#include <onnx/onnx_pb.h>

namespace octet::io {

/// Converts float32 values of a model exported by Octet to float16, including
/// scales of Q and DQ. Inputs and outputs stay float32, with a Cast after or
/// before them. Float32 remain: squares, means and roots (of
/// LayerNormalization: squares overflow from 256 on), inputs that must be
/// float32 (the factors of Resize), and Q and DQ whose scale float16 represents
/// with a relative error over 1/256, with a warning. Throws: ValueError for a
/// constant or a quantized weight beyond 65504.
void to_float16(onnx::ModelProto& model);

}  // namespace octet::io
