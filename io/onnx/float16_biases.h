// Biases of quantized layers in float16.
#pragma once

#include <onnx/onnx_pb.h>

namespace octet::io {

/// Moves float16 biases of quantized layers that QuantizeLinear follows to an
/// Add: ONNX Runtime's optimizer WeightBiasQuantization (1.22 to 1.31) computes
/// a bias divided by the scales of data and weights in float16, which
/// overflows. TensorRT-RTX builds the same kernels from both forms.
void separate_biases(onnx::GraphProto& graph);

}  // namespace octet::io
