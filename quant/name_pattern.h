// Regular expressions over layer names. The one place that knows <regex>.
#pragma once

#include <string>
#include <string_view>

namespace octet::quant {

/// Throws: ValueError unless `pattern` is an ECMAScript regular expression.
void check_name_pattern(const std::string& pattern);

/// Whether the whole name matches. REQUIRES: a checked pattern.
bool matches_name(const std::string& pattern, std::string_view name);

}  // namespace octet::quant
