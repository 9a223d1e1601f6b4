// Schemas of the operators that Octet runs, for onnx's checker and shape
// inference. onnx 1.12 ends at opset 17: Octet adds schemas of operators that
// are newer or changed and of the integer operators of ONNX Runtime's
// quantizer. It guards ranks, axes and types that onnx's inference does not
// check, and counts the windows of pooling differently.
#pragma once

#include <cstdint>
#include <string_view>

#include <onnx/defs/schema.h>
#include <onnx/onnx_pb.h>

namespace octet::io {

/// Last opset of onnx 1.12.
inline constexpr int64_t kLastOpsetOfOnnx = 17;
/// Domain of ONNX Runtime's operators.
inline constexpr std::string_view kMicrosoftDomain = "com.microsoft";

/// Returns a registry with a schema for every operator. Operators that Octet
/// does not run get a schema that accepts anything, so that callers can list
/// them.
const onnx::ISchemaRegistry& schemas();

/// Whether Octet runs the operator and the opset that the model imports has it.
bool is_known(const onnx::NodeProto& node, int64_t opset);

/// Checks the numbers of inputs and outputs of nodes, also of operators that
/// the opset lacks, which the checker treats as unknown. Throws: FormatError
/// naming the node.
void check_arity(const onnx::GraphProto& graph, int64_t opset);

/// Whether the types of all values can be inferred, also in subgraphs: an
/// unknown operator ends inference for all values that depend on it.
bool can_infer_all(const onnx::GraphProto& graph, int64_t opset);

}  // namespace octet::io
