// The operator Attention, of opset 23, as the products that older exporters
// write.
#pragma once

#include <onnx/onnx_pb.h>

namespace octet::io {

/// Puts MatMul, Mul, Softmax and MatMul in the place of Attention, with what
/// its mask does between them: a query that sees no key gets zeros.
/// What stays as it is: other opsets; keys and values of the past; a soft cap;
/// more heads of queries than of keys; other outputs; masks of other types than
/// bool and float32, constant ones that leave a query without keys, and masks
/// beside is_causal.
/// REQUIRES: shapes have been inferred. Source: ONNX Attention-23.
void expand_attention(onnx::GraphProto& graph, int64_t opset);

}  // namespace octet::io
