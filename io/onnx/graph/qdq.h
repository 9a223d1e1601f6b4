// QuantizeLinear and DequantizeLinear nodes of a checked graph: quantization
// parameters and their validity.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <onnx/onnx_pb.h>

#include "graph.h"

namespace octet::io {

bool is_quantize(const onnx::NodeProto& node);
bool is_dequantize(const onnx::NodeProto& node);

/// Quantization parameters of a Q or DQ node.
struct QdqParams {
  std::optional<int64_t> axis;  ///< non-negative; per channel only
  std::vector<float> scales;    ///< empty if computed by the graph
};

/// Throws: FormatError for scales or zero points that do not fit the tensor,
/// scales that are not finite and positive, or an axis out of range.
QdqParams qdq_params(const onnx::NodeProto& node, const OnnxGraph& graph);

/// Calls qdq_params() for every Q and DQ of the graph.
void check_qdq(const OnnxGraph& graph);

}  // namespace octet::io
