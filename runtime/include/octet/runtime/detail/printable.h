// Sanitizes text from files and users for messages and tables: replaces
// characters that a terminal would interpret or cannot display.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <octet/runtime/detail/language.h>

namespace octet {

/// Sanitizes a name for a single line, also in XML: control characters,
/// noncharacters, invalid UTF-8 and bidirectional marks become '?'. Truncates
/// after `longest` bytes.
std::string printable(std::string_view text, size_t longest = 200);

/// Sanitizes text of several lines; newlines and tabs stay. Not truncated.
std::string printable_lines(std::string_view text);

/// Whether the text is valid UTF-8.
bool is_utf8(std::string_view text);

}  // namespace octet
