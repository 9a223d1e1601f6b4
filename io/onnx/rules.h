// Shape inference of operators that onnx 1.12 does not know, or knows
// otherwise. A rule leaves open what it cannot tell.
// Throws: onnx::InferenceError for what cannot be.
#pragma once

#include <onnx/defs/schema.h>
#include <onnx/defs/shape_inference.h>
#include <onnx/onnx_pb.h>

namespace octet::io::rules {

using Context = onnx::InferenceContext;

/// Type and shape of the first input.
void keep(Context& context);
/// Reductions whose axes are an input.
void reduce(Context& context);
/// Into `num_outputs` parts, the last one being smaller, or as input 1 says.
void split(Context& context);
void pad(Context& context);
void resize(Context& context);
void quantize(Context& context);
void dequantize(Context& context);
/// No window begins after the image and the padding before it, as ONNX Runtime
/// and, since opset 22, the standard have it.
void pool(Context& context);
void global_pool(Context& context);

/// onnx's own inference for a schema behind rank_check() and fences: it takes
/// a convolution's kernel from its weights, writes to the axis of
/// LayerNormalization unchecked, makes a shape of any rank that a list's length
/// asks for, and counts windows one by one. Pooling gets pool(). Empty for
/// schemas that need neither.
onnx::InferenceFunction safer(const onnx::OpSchema& schema);
/// onnx's own propagation of values that are shapes, where every input has a
/// type (after an error that onnx goes on from, one may have none) and no list
/// is empty: it trusts both.
/// REQUIRES: the schema has one.
onnx::DataPropagationFunction safer_propagation(const onnx::OpSchema& schema);

// com.microsoft
void qlinear_binary(Context& context);
void qlinear_concat(Context& context);
void qgemm(Context& context);

}  // namespace octet::io::rules
