// Description of a file that no reader accepts.
#pragma once

#include <filesystem>
#include <string>

#include <octet/runtime/detail/language.h>

namespace octet::io {

/// Returns the kind of a file or folder, from its contents, and how to use it:
/// "a PNG image. Hint: read it with io::read_image"; "another kind of file" if
/// unknown.
/// Throws: IoError if it is missing or cannot be read.
std::string describe_file(const std::filesystem::path& path);

}  // namespace octet::io
