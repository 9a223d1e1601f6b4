// Scales of weights with which a bias can be added as an integer.
#pragma once

#include <onnx/onnx_pb.h>

namespace octet::io {

/// In a graph that GraphBuilder wrote: ONNX Runtime adds the bias of a
/// quantized convolution or Gemm in 32 bits, in steps of its input's scale
/// times the channel's. A channel whose weights are next to nothing beside its
/// bias has steps so small that the bias overflows, and one of zeros, with a
/// scale of 1, so large that it is rounded off. Such a channel gets the scale
/// with which the bias is 2^30 steps. What its weights lose is at most 6e-8 of
/// the bias for each product of a sum: (127 s_x) * (s_w / 2) where |b| = 2^30
/// s_x s_w.
void fit_scales_to_biases(onnx::GraphProto& graph);

}  // namespace octet::io
