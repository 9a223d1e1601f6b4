// Parsing of untrusted TOML within limits.
#pragma once

#include <string>

#include <toml++/toml.h>

namespace octet::program {

/// Parses a file of at most 1 MiB, with keys of at most 16 dotted parts, and
/// lists and inline tables nested at most 16 deep: the parser and the
/// destructors of its tables are recursive.
/// Throws: IoError; FormatError with the line.
toml::table read_toml(const std::string& path);

}  // namespace octet::program
