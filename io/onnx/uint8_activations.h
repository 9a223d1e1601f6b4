// Activations as uint8 codes: ONNX Runtime's convolutions want those of their
// inputs and outputs to be of one type.
#pragma once

#include <onnx/onnx_pb.h>

namespace octet::io {

/// In a graph that GraphBuilder wrote, pairs of activations with int8 codes
/// around 0 get uint8 codes around 128. What the graph computes stays the same,
/// bit by bit.
void store_uint8_activations(onnx::GraphProto& graph);

/// The same for the pairs of int8_pairs_at_concat() alone.
void store_uint8_at_concat(onnx::GraphProto& graph);

}  // namespace octet::io
