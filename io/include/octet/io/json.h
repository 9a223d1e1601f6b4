// Conversion between Config and JSON.
#pragma once

#include <string>
#include <string_view>

#include <octet/runtime/config.h>

namespace octet::io {

/// Returns JSON indented by two spaces, entries in order; numbers round-trip
/// bit for bit. NaN and infinity, which JSON lacks, become null.
std::string to_json(const Config& config);

/// Parses JSON.
/// Throws: FormatError with line and column, also for nesting deeper than 100
/// and integers outside int64.
Config from_json(std::string_view text);

}  // namespace octet::io
