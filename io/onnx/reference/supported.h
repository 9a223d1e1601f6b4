// Detection of unsupported operators and types.
#pragma once

#include <onnx/onnx_pb.h>

namespace octet::io::run {

/// Throws: UnsupportedError listing all operators, with a node of each, and
/// all element types, with a value of each.
void check_supported(const onnx::GraphProto& graph, int64_t opset);

}  // namespace octet::io::run
