// Configurations as JSON that reads back as the same bits. Internal to io.
#pragma once

#include <string>
#include <string_view>

#include <octet/runtime/config.h>

namespace octet::io {

/// NaN and infinity, which JSON lacks, are {"number": "nan"}, "inf" or "-inf".
/// Throws: ValueError for text that is not UTF-8, or nesting beyond 100.
std::string to_text(const Config& values);

/// Throws: FormatError.
Config from_text(std::string_view text);

}  // namespace octet::io
