// x / max(|x|, epsilon) with the Euclidean norm over some axes, as an op and as
// ONNX nodes.
#pragma once

#include <vector>

#include <octet/layers/onnx_builder.h>
#include <octet/runtime/variable.h>

namespace octet {

Variable unit_length(const Variable& x, const std::vector<int>& axes,
                     float epsilon);

/// Adds the nodes and returns the name of the result.
std::string emit_unit_length(EmitContext& context, const std::string& x,
                             const std::vector<int64_t>& axes, float epsilon);

}  // namespace octet
