// Config to JSON text and back.
#pragma once

#include <string>
#include <string_view>

#include <octet/runtime/config.h>

namespace octet::io {

/// Two-space indented, entries in their order, numbers that read back as the
/// same bits. NaN and infinity, which JSON lacks, become null.
std::string to_json(const Config& config);

/// Throws: FormatError with line and column; nesting deeper than 100 and
/// integers outside int64 are refused.
Config from_json(std::string_view text);

}  // namespace octet::io
