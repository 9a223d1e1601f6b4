// Tables of a report. Internal to io.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace octet::io {

/// A cell of text, and one of a number.
std::string cell(std::string_view text);
std::string number(std::string_view text);

/// Rows of a table that a narrow screen scrolls. Headings of numbers begin with
/// '#'.
std::string table(const std::vector<std::string_view>& heading,
                  const std::string& rows);

}  // namespace octet::io
