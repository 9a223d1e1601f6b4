// ONNX Runtime's operators on codes ("QOperator") as the Q/DQ pairs and the
// operators on floats that they stand for. Internal to io/onnx/import.
#pragma once

#include <onnx/onnx_pb.h>

namespace octet::io::importing {

/// Puts pairs in the place of QLinearConv, QLinearMatMul, QGemm and the other
/// QLinear operators, and around what only moves or picks codes between them.
/// The codes are the same but for ties, which a float may round otherwise.
/// Operators in a form that pairs have not stay as they are.
void expand_qoperators(onnx::GraphProto& graph, int64_t opset);

}  // namespace octet::io::importing
