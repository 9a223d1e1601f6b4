// ONNX Runtime's operators on quantized values ("QOperator"), converted to Q/DQ
// pairs and float operators. Internal to io/onnx/import.
#pragma once

#include <onnx/onnx_pb.h>

namespace octet::io::importing {

/// Replaces QLinearConv, QLinearMatMul, QGemm and the other QLinear operators
/// by pairs around float operators, and adds pairs around operators between
/// them that only move or select quantized values. Quantized results are the
/// same except for ties, which float rounding may break differently. Leaves
/// operators unchanged that pairs cannot express.
void expand_qoperators(onnx::GraphProto& graph, int64_t opset);

}  // namespace octet::io::importing
