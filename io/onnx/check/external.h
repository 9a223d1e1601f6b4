// External data: tensors stored in separate files, as in large models.
#pragma once

#include <cstdint>
#include <filesystem>

#include <onnx/onnx_pb.h>

namespace octet::io {

/// Loads external data into the model. Because the file names are untrusted, a
/// file must be in `folder` or below, regular, with a single hard link, and
/// reached without symbolic links.
/// Throws: FormatError naming the tensor for a forbidden file or range, or for
/// more than `limit` bytes in total; IoError for missing or unreadable files.
void read_external_data(onnx::ModelProto& model,
                        const std::filesystem::path& folder, int64_t limit);

}  // namespace octet::io
