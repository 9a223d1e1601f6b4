// Tensors whose data lies in other files, as writers of large models have it.
#pragma once

#include <cstdint>
#include <filesystem>

#include <onnx/onnx_pb.h>

namespace octet::io {

/// Brings the data of such tensors into the model. A file must lie in `folder`
/// or below it, be a plain file with one name, and be reached without links:
/// its name comes from a stranger, and must not lead to what he could not read.
/// Throws: FormatError naming the tensor and what is wrong with its file or its
/// range, or for more than `limit` bytes in all; IoError for files that are
/// missing or cannot be read.
void read_external_data(onnx::ModelProto& model,
                        const std::filesystem::path& folder, int64_t limit);

}  // namespace octet::io
