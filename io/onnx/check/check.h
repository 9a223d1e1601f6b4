// Loading, checking and serialization of ONNX models.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <onnx/onnx_pb.h>

namespace octet::io {

/// Expected file kind, for messages.
inline constexpr std::string_view kOnnxFile = "an ONNX model";

/// Constants of type int4 and uint4, as stored in a file.
using PackedConstants = std::vector<onnx::TensorProto>;

/// Throws: FormatError for an empty, damaged or foreign file.
onnx::ModelProto parse_onnx(const std::string& bytes);

/// Loads a model with its external data (at most `limit` bytes, in files of its
/// folder) and checks it as check_onnx() does.
/// Throws: IoError; FormatError, UnsupportedError.
onnx::ModelProto read_onnx(const std::filesystem::path& path, int64_t limit,
                           PackedConstants* packed = nullptr);

/// Checks, in this order, Octet's bounds, onnx::checker, strict shape inference
/// and the rules of Q/DQ, with the operators of schemas.h; unknown operators
/// pass. Leaves the model in the standard form (see conform()) with inferred
/// shapes. `packed` receives the constants that conform() unpacks.
/// Throws: FormatError.
void check_onnx(onnx::ModelProto& model, PackedConstants* packed = nullptr);

/// Checks all but the rules of Q/DQ, for callers that report violations.
void check_onnx_without_qdq(onnx::ModelProto& model,
                            PackedConstants* packed = nullptr);

/// Adds the shapes of values. Throws: std::exception of onnx.
void infer_shapes(onnx::ModelProto& model);

/// Throws: UnsupportedError for a file of 2 GiB or more.
void expect_below_2_gib(size_t bytes);

/// Returns the file's bytes, deterministically.
/// Throws: UnsupportedError from 2 GiB on.
std::string serialize_onnx(const onnx::ModelProto& model);

}  // namespace octet::io
