// Weights as int8 codes: the form that ONNX Runtime's and NVIDIA's quantizers
// write.
#pragma once

#include <onnx/onnx_pb.h>

namespace octet::io {

/// In a graph that GraphBuilder wrote, each QuantizeLinear of a constant is
/// done here: its codes take the constant's place, under its name where nobody
/// else reads it, and DequantizeLinear alone is left. What the graph computes
/// stays the same, bit by bit.
void store_int8_weights(onnx::GraphProto& graph);

}  // namespace octet::io
