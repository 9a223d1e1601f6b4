// Expansion of the operator Attention of opset 23 into the matrix products that
// older exporters write.
#pragma once

#include <onnx/onnx_pb.h>

namespace octet::io {

/// Replaces Attention by MatMul, Mul, Softmax and MatMul, with its mask between
/// them; a query without visible keys yields zeros. Leaves unchanged: other
/// opsets; past keys and values; a soft cap; more query heads than a multiple
/// of the key heads; other outputs; masks of other types than bool and float32;
/// constant masks that hide all keys from a query; masks with is_causal.
/// REQUIRES: shapes have been inferred. Source: ONNX Attention-23.
void expand_attention(onnx::GraphProto& graph, int64_t opset);

}  // namespace octet::io
