// What must hold before onnx::checker and shape inference may see a model:
// they trust sizes and attributes, and a stride of 0 ends the process.
#pragma once

#include <cstdint>
#include <string>

#include <onnx/onnx_pb.h>

namespace octet::io {

/// The opsets of ai.onnx that Octet reads.
inline constexpr int64_t kFirstOpset = 1;
inline constexpr int64_t kLastOpset = 26;
/// And the versions of the format itself.
inline constexpr int64_t kFirstIrVersion = 3;
inline constexpr int64_t kLastIrVersion = 13;

/// Throws: FormatError naming the node, tensor or value and what is wrong;
/// UnsupportedError for a later version.
void check_bounds(const onnx::ModelProto& model);

/// The model's opset of ai.onnx; the first if it has only operators of others.
/// Throws: FormatError unless there is one, in the range above;
/// UnsupportedError for a later one.
int64_t opset_of(const onnx::ModelProto& model);

/// Whether a domain is that of the standard operators.
bool is_standard_domain(const std::string& domain);

/// "node 'conv1' (Conv)", for messages.
std::string describe(const onnx::NodeProto& node);

}  // namespace octet::io
