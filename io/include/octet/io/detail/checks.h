// Checks and hints that readers share with the command line.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include <octet/io/image.h>
#include <octet/runtime/detail/language.h>
#include <octet/runtime/tensor.h>

namespace octet::io {

/// Returns the kind of a file or folder, from its contents, and how to use it:
/// "a PNG image. Hint: read it with io::read_image"; "another kind of file" if
/// unknown.
/// Throws: IoError if it is missing or cannot be read.
std::string describe_file(const std::filesystem::path& path);

/// Returns ". Hint: ..." for labels that are not classes: how to convert them
/// (integers of another type or shape, one-hot) or else the loss for float
/// targets, with the output `name` if not empty. All commands share this text.
std::string labels_hint(const Tensor& labels, const std::string& name = "");

/// Checks the options of resizing to `size`.
/// Throws: ValueError, naming `subject`, for fields out of range.
void check_resize(std::string_view subject, Size2 size, const Resize& resize);

}  // namespace octet::io
