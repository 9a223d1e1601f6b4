// Preconditions of onnx::checker and shape inference, which trust sizes and
// attributes: a stride of 0 ends the process.
#pragma once

#include <cstdint>
#include <string>

#include <onnx/onnx_pb.h>

namespace octet::io {

/// Supported opsets of ai.onnx.
inline constexpr int64_t kFirstOpset = 1;
inline constexpr int64_t kLastOpset = 28;
/// Supported versions of the file format.
inline constexpr int64_t kFirstIrVersion = 3;
inline constexpr int64_t kLastIrVersion = 14;

/// Throws: FormatError naming the node, tensor or value at fault;
/// UnsupportedError for a later version.
void check_bounds(const onnx::ModelProto& model);

/// Returns the model's opset of ai.onnx; the first opset if the model imports
/// other domains only. Throws: FormatError for a missing or repeated opset or
/// one below the range; UnsupportedError for a later one.
int64_t opset_of(const onnx::ModelProto& model);

/// Whether a domain is that of the standard operators.
bool is_standard_domain(const std::string& domain);

/// "node 'conv1' (Conv)", the subject of errors.
std::string describe(const onnx::NodeProto& node);

}  // namespace octet::io
