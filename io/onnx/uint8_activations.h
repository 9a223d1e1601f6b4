// Activations quantized to uint8: ONNX Runtime's convolutions require the same
// type for input and output.
#pragma once

#include <onnx/onnx_pb.h>

namespace octet::io {

/// Converts int8 pairs of activations with zero point 0 to uint8 with zero
/// point 128, in a graph of GraphBuilder. Results stay the same, bit for bit.
void store_uint8_activations(onnx::GraphProto& graph);

/// Converts only the pairs of int8_pairs_at_concat().
void store_uint8_at_concat(onnx::GraphProto& graph);

}  // namespace octet::io
