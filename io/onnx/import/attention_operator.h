// The operator Attention, of opset 23, as the products that older exporters
// write. Internal to io/onnx/import.
#pragma once

#include <onnx/onnx_pb.h>

namespace octet::io::importing {

/// Puts MatMul, Mul, Softmax and MatMul in the place of Attention, with what
/// its mask does between them. One with keys and values of the past, a soft
/// cap, more heads of queries than of keys, or other outputs stays as it is.
/// Source: ONNX Attention-23.
void expand_attention(onnx::GraphProto& graph);

}  // namespace octet::io::importing
