// What changes from one opset to the next in the files that Octet writes.
// Layers emit their nodes as opset 13 has them.
#pragma once

#include <string_view>

namespace octet::io {

/// Per-channel Q/DQ begins with the first. The last is written and read by
/// Octet itself: onnx 1.12 ends at 17.
inline constexpr int kFirstOpsetWritten = 13;
inline constexpr int kLastOpsetWritten = 21;
/// Of Q and DQ.
inline constexpr int kFirstOpsetOfHalfScales = 19;

/// Throws: ValueError for an opset that Octet does not write.
void check_opset(int opset);

/// The version of the format that came with an opset: no reader of the opset
/// needs a later one.
/// Source: https://github.com/onnx/onnx/blob/main/docs/Versioning.md
int ir_version_of(int opset);

/// Whether the operator has its axes as an input, and an attribute before.
bool takes_axes_as_input(std::string_view op_type, int opset);

}  // namespace octet::io
