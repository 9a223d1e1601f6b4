// Q/DQ pairs between a Concat and a convolution.
#pragma once

#include <vector>

#include <onnx/onnx_pb.h>

#include "graph_view.h"

namespace octet::io {

/// An int8 pair with a Concat before or after it, consumed by a quantized
/// convolution.
struct ConcatPair {
  const onnx::NodeProto* quantize;
  const onnx::NodeProto* dequantize;
  const onnx::NodeProto* convolution;  ///< the first consumer found
};

/// Returns the int8 pairs from which OpenVINO computes wrong convolutions: it
/// moves the quantizer behind a Concat into the branches, and a convolution of
/// one group then takes int8 values for uint8 values. Each dequantizer appears
/// once, in the order of the convolutions.
/// Source: OpenVINO 2024.6 and 2026.4 on x86, 70 graphs against ONNX Runtime:
/// 7 to 13 dB for these, 130 dB for uint8 values, grouped convolutions,
/// ConvTranspose, Gemm and MatMul.
std::vector<ConcatPair> int8_pairs_at_concat(const GraphView& view);

}  // namespace octet::io
