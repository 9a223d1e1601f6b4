// Weights stored as int8, as ONNX Runtime's and NVIDIA's quantizers write them.
#pragma once

#include <onnx/onnx_pb.h>

namespace octet::io {

/// Folds each QuantizeLinear of a constant in a graph of GraphBuilder: the
/// quantized values replace the constant, under its name unless it has other
/// consumers, and only DequantizeLinear remains. The graph's results stay the
/// same, bit for bit.
void store_int8_weights(onnx::GraphProto& graph);

}  // namespace octet::io
