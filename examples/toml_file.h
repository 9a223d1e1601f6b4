// TOML of unknown origin, parsed within bounds.
#pragma once

#include <string>

#include <toml++/toml.h>

namespace octet::program {

/// Parses a file of up to 1 MiB whose keys have up to 16 dotted parts and whose
/// lists and inline tables nest up to 16 deep: the parser and the destructors
/// of its tables recurse.
/// Throws: IoError; FormatError with the line.
toml::table read_toml(const std::string& path);

}  // namespace octet::program
