// What onnx's checker and shape inference know of operators that Octet runs.
// onnx 1.12 ends at opset 17; Octet has schemas of its own for what came or
// changed later and for the integer operators of ONNX Runtime's quantizer. Two
// things are safer than onnx's: ranks, axes and types that its inference
// trusts, and the windows of pooling that it counts otherwise.
#pragma once

#include <cstdint>
#include <string_view>

#include <onnx/defs/schema.h>
#include <onnx/onnx_pb.h>

namespace octet::io {

/// The last opset that onnx 1.12 knows.
inline constexpr int64_t kLastOpsetOfOnnx = 17;
/// Of ONNX Runtime's operators.
inline constexpr std::string_view kMicrosoftDomain = "com.microsoft";

/// Has a schema for every operator: one that takes anything for those that
/// Octet does not run, so that a reader can list them all.
const onnx::ISchemaRegistry& schemas();

/// Whether there is such an operator, among those that Octet runs, in the opset
/// that a model imports.
bool is_known(const onnx::NodeProto& node, int64_t opset);

/// Checks that nodes have the inputs and outputs that their operators need,
/// also operators that the opset does not have: the checker takes these for
/// unknown. Throws: FormatError naming the node.
void check_arity(const onnx::GraphProto& graph, int64_t opset);

/// Whether the types of all values, also within subgraphs, can be inferred: an
/// operator that is not known ends that for all who read what it makes.
bool can_infer_all(const onnx::GraphProto& graph, int64_t opset);

}  // namespace octet::io
