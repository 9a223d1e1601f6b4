// Shape inference of operators that onnx 1.12 lacks or infers differently. A
// rule leaves sizes dynamic that it cannot infer.
// Throws: onnx::InferenceError for invalid nodes.
#pragma once

#include <onnx/defs/schema.h>
#include <onnx/defs/shape_inference.h>
#include <onnx/onnx_pb.h>

namespace octet::io::rules {

using Context = onnx::InferenceContext;

/// Type and shape of the first input.
void keep(Context& context);
/// Reductions with axes as an input.
void reduce(Context& context);
/// Into `num_outputs` parts, the last being smaller, or into the sizes of input
/// 1.
void split(Context& context);
/// Type of the first input, shape of two inputs.
void broadcast(Context& context);
void pad(Context& context);
void resize(Context& context);
void quantize(Context& context);
void dequantize(Context& context);
/// No window begins after the image and its leading padding, as in ONNX Runtime
/// and, since opset 22, the standard.
void pool(Context& context);
void global_pool(Context& context);

/// Returns onnx's own inference for a schema, guarded by checks of ranks and
/// others: onnx derives a convolution's kernel from its weights, writes to the
/// axis of LayerNormalization unchecked, creates a shape of any rank from the
/// length of a list, and counts windows in a loop. Pooling gets pool(). Empty
/// for schemas that need no guard.
onnx::InferenceFunction safer(const onnx::OpSchema& schema);
/// Returns onnx's own propagation of shape values for inputs that all have a
/// type (one may be missing after an ignored error) and lists that are not
/// empty: onnx does not check either.
/// REQUIRES: the schema has a propagation function.
onnx::DataPropagationFunction safer_propagation(const onnx::OpSchema& schema);

// com.microsoft
void qlinear_binary(Context& context);
void qlinear_concat(Context& context);
void qgemm(Context& context);

}  // namespace octet::io::rules
