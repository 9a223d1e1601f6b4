// JSON of configurations that round-trips bit for bit. Internal to io.
#pragma once

#include <string>
#include <string_view>

#include <octet/runtime/config.h>

namespace octet::io {

/// Returns JSON; NaN and infinity, which JSON lacks, become {"number": "nan"},
/// "inf" or "-inf".
/// Throws: ValueError for text that is not UTF-8, or nesting beyond 100.
std::string to_text(const Config& values);

/// Parses the JSON of to_text(). Throws: FormatError.
Config from_text(std::string_view text);

}  // namespace octet::io
