// x / max(|x|, epsilon) with the Euclidean norm over some axes, as ONNX nodes;
// normalize() is the op.
#pragma once

#include <vector>

#include <octet/layers/custom_layer.h>

namespace octet {

/// Adds the nodes and returns the name of the result.
std::string emit_unit_length(EmitContext& context, const std::string& x,
                             const std::vector<int64_t>& axes, float epsilon);

}  // namespace octet
