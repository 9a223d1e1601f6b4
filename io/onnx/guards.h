// Holes in the shape inference of onnx 1.12 that depend on ranks.
#pragma once

#include <onnx/onnx_pb.h>

namespace octet::io {

/// Makes a model safe for shape inference:
/// - a convolution without kernel_shape gets that of its weights; onnx takes
///   it from there too but then trusts the ranks of image and weights to
///   agree;
/// - LayerNormalization with several outputs must have an axis of its input,
///   since onnx writes to that dimension unchecked;
/// - Gemm before opset 7 must state that its inputs are matrices.
/// REQUIRES: check_bounds() and onnx::checker have passed.
/// Throws: FormatError where a shape that this needs is not given.
void guard_inference(onnx::ModelProto& model);

}  // namespace octet::io
