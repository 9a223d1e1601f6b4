// ONNX models from outside and on their way out: parse, check, write.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include <onnx/onnx_pb.h>

namespace octet::io {

/// What readers of such files expect, for messages.
inline constexpr std::string_view kOnnxFile = "an ONNX model";

/// Throws: FormatError for an empty, damaged or foreign file.
onnx::ModelProto parse_onnx(const std::string& bytes);

/// A file's model, with data that lies in other files of its folder (at most
/// `limit` bytes of it), checked as below.
/// Throws: IoError; FormatError, UnsupportedError.
onnx::ModelProto read_onnx(const std::filesystem::path& path, int64_t limit);

/// Octet's own bounds, onnx::checker, strict shape inference and the rules of
/// Q/DQ, in this order, over the operators of schemas.h; those that nobody
/// knows pass. The model is left as normalize() makes it, with the inferred
/// shapes.
/// Throws: FormatError.
void check_onnx(onnx::ModelProto& model);

/// The same without the rules of Q/DQ, for those who report what breaks them.
void check_onnx_but_qdq(onnx::ModelProto& model);

/// Throws: UnsupportedError for a file of 2 GiB or more.
void expect_below_2_gib(size_t bytes);

/// The file's bytes, the same for the same model.
/// Throws: UnsupportedError from 2 GiB on.
std::string serialize_onnx(const onnx::ModelProto& model);

}  // namespace octet::io
