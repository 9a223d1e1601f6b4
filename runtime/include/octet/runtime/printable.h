// Text from files and users, for messages and tables: what a terminal would
// obey, or could not show, is replaced.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <octet/runtime/language.h>

namespace octet {

/// A name made fit for one line, also of XML: control characters,
/// noncharacters, bytes that are no UTF-8 and marks that turn the direction of
/// text become '?', and what is longer than `longest` bytes is cut.
std::string printable(std::string_view text, size_t longest = 200);

/// The same for text of lines, which may have tabs. Not cut.
std::string printable_lines(std::string_view text);

}  // namespace octet
