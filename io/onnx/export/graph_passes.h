// Passes over the graph of a checked or exported model. Those of import are in
// normalize/passes.h. Internal to io/onnx.
#pragma once

#include <vector>

#include "onnx/graph/graph.h"

namespace octet::io {

/// Changes the type of float64 values to float32 where results stay the same:
/// inputs that nodes only cast to shorter floats, and casts of values that
/// float32 represents exactly, if nodes only cast the results again.
/// REQUIRES: shapes have been inferred.
void narrow_doubles(OnnxGraph& graph);

// The following passes require a graph of GraphBuilder.

/// Increases or sets weight scales so that quantized biases fit int32. ONNX
/// Runtime adds the bias of a quantized convolution or Gemm in 32 bits, with
/// the input's scale times the channel's. In a channel whose weights are
/// negligible beside its bias, this scale is so small that the bias overflows;
/// in a channel of zeros, with a scale of 1, so large that the bias is lost to
/// rounding. These channels get the scale for which the bias is 2^30. The
/// weights' error is at most 6e-8 of the bias for each product of a sum:
/// (127 s_x) * (s_w / 2), with |b| = 2^30 s_x s_w.
void fit_scales_to_biases(OnnxGraph& graph);

/// Folds each QuantizeLinear of a constant: the quantized values, as int8, int4
/// or float8, replace the constant, under its name unless it has other
/// consumers, and only DequantizeLinear remains. The graph's results stay the
/// same, bit for bit.
void store_quantized_weights(OnnxGraph& graph);
/// The same for constants in blocks alone.
void store_blocks(OnnxGraph& graph);

/// Converts int8 pairs of activations with zero point 0 to uint8 with zero
/// point 128: ONNX Runtime's convolutions require the same type for input and
/// output. Results stay the same, bit for bit.
void store_uint8_activations(OnnxGraph& graph);
/// Converts only the pairs of int8_pairs_at_concat().
void store_uint8_at_concat(OnnxGraph& graph);

/// Sets channels of int8 weights whose products all round to 0 in float16 to 0,
/// with a scale that float16 represents; the float16 weights are the same.
/// Throws: ValueError for a weight beyond 65504, which would become infinite.
void fit_weights_to_float16(OnnxGraph& graph);

/// Converts float32 values to float16, including scales of Q and DQ. Inputs and
/// outputs stay float32, with a Cast after or before them. Float32 remain:
/// squares, means and roots (of LayerNormalization: squares overflow from 256
/// on), inputs that must be float32 (the factors of Resize), and Q and DQ whose
/// scale float16 represents with a relative error over 1/256, with a warning.
/// Throws: ValueError for a constant beyond 65504.
void to_float16(OnnxGraph& graph);

/// Moves float16 biases of quantized layers that QuantizeLinear follows to an
/// Add: ONNX Runtime's optimizer WeightBiasQuantization (1.22 to 1.31) computes
/// a bias divided by the scales of data and weights in float16, which
/// overflows. TensorRT-RTX builds the same kernels from both forms.
void separate_biases(OnnxGraph& graph);

/// Smallest scale that float16 always represents with a relative error up to
/// 1/256: below it, the spacing of float16 exceeds 1/128 of the value.
inline constexpr float kLeastHalfScale = 0x1p-17f;

/// An int8 pair with a Concat before or after it, consumed by a quantized
/// convolution.
struct ConcatPair {
  const OnnxNode* quantize;
  const OnnxNode* dequantize;
  const OnnxNode* convolution;  ///< the first consumer found
};

/// Returns the int8 pairs from which OpenVINO computes wrong convolutions: it
/// moves the quantizer behind a Concat into the branches, and a convolution of
/// one group then takes int8 values for uint8 values. Each dequantizer appears
/// once, in the order of the convolutions.
/// Source: OpenVINO 2024.6 and 2026.4 on x86, 70 graphs against ONNX Runtime:
/// 7 to 13 dB for these, 130 dB for uint8 values, grouped convolutions,
/// ConvTranspose, Gemm and MatMul.
std::vector<ConcatPair> int8_pairs_at_concat(const OnnxGraph& graph);

}  // namespace octet::io
