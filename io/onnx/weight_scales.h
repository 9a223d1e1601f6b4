// Weight scales with which the bias fits an integer.
#pragma once

#include <onnx/onnx_pb.h>

namespace octet::io {

/// Increases or sets weight scales so that quantized biases fit int32, in a
/// graph of GraphBuilder. ONNX Runtime adds the bias of a quantized convolution
/// or Gemm in 32 bits, with the input's scale times the channel's. In a channel
/// whose weights are negligible beside its bias, this scale is so small that
/// the bias overflows; in a channel of zeros, with a scale of 1, so large that
/// the bias is lost to rounding. These channels get the scale for which the
/// bias is 2^30. The weights' error is at most 6e-8 of the bias for each
/// product of a sum: (127 s_x) * (s_w / 2), with |b| = 2^30 s_x s_w.
void fit_scales_to_biases(onnx::GraphProto& graph);

}  // namespace octet::io
