// What a file is that no reader took.
#pragma once

#include <filesystem>
#include <string>

#include <octet/runtime/language.h>

namespace octet::io {

/// What a file or a folder is by its contents, and what to do with it:
/// "a PNG image. Hint: io::read_image reads it"; "another kind of file" where
/// they do not say.
/// Throws: IoError if it is missing or cannot be read.
std::string describe_file(const std::filesystem::path& path);

}  // namespace octet::io
