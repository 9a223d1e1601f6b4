// Differences between the opsets that Octet exports. Layers emit nodes in the
// form of opset 13.
#pragma once

#include <string_view>

namespace octet::io {

/// 13 is the first with per-channel Q/DQ. The last is written and loaded by
/// Octet itself: onnx 1.12 ends at 17.
inline constexpr int kFirstOpsetWritten = 13;
inline constexpr int kLastOpsetWritten = 21;
/// First opset with float16 scales of Q and DQ, and with float8.
inline constexpr int kFirstOpsetOfHalfScales = 19;
inline constexpr int kFirstOpsetOfFloat8 = 19;
/// First opset in which Q and DQ support int16, int4 and blocks.
inline constexpr int kFirstOpsetOfInt16 = 21;
inline constexpr int kFirstOpsetOfBlocks = 21;
/// TensorProto::DataType of newer versions of onnx than 1.12.
inline constexpr int kFloat8E4M3FN = 17;
inline constexpr int kUint4 = 21;
inline constexpr int kInt4 = 22;

/// Throws: ValueError for an opset that Octet does not export.
void check_opset(int opset);

/// Returns the version of the format released with an opset: runtimes of the
/// opset support it.
/// Source: https://github.com/onnx/onnx/blob/main/docs/Versioning.md
int ir_version_of(int opset);

/// Returns the first opset in which the axes of a reduction, Squeeze or
/// Unsqueeze are input 1 instead of an attribute.
int axes_as_input_since(std::string_view op_type);
/// Whether axes that are an attribute in opset 13 are an input in `opset`.
bool takes_axes_as_input(std::string_view op_type, int opset);

}  // namespace octet::io
