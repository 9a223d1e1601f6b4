// Regular expressions over layer names. The one place that knows RE2.
#pragma once

#include <string>
#include <string_view>

namespace octet::quant {

/// Throws: ValueError unless `pattern` is a regular expression as RE2 takes
/// them, of at most 64 KiB.
void check_name_pattern(const std::string& pattern);

/// Whether the whole name matches. REQUIRES: a checked pattern.
bool matches_name(const std::string& pattern, std::string_view name);

}  // namespace octet::quant
