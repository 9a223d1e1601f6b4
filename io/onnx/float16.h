// A graph's floats in 16 bits, for engines that take types from the file.
#pragma once

#include <onnx/onnx_pb.h>

namespace octet::io {

/// Writes what is float32 between the inputs and outputs of a model that Octet
/// wrote as float16, scales of Q and DQ too. Inputs and outputs stay float32,
/// with a Cast behind or before them, and so do squares, means and roots (of
/// LayerNormalization: squares overflow from 256 on) and what takes float32
/// alone, the factors of Resize. Q and DQ whose scale float16 does not hold to
/// a 256th of itself stay float32, with a warning. Throws: ValueError for a
/// constant or a quantized weight beyond 65504.
void to_float16(onnx::ModelProto& model);

}  // namespace octet::io
