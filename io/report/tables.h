// Tables of a report. Internal to io.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace octet::io {

/// Cells of text and of a number.
std::string cell(std::string_view text);
std::string number(std::string_view text);

/// Table that scrolls on narrow screens. Headings of number columns begin with
/// '#'.
std::string table(const std::vector<std::string_view>& heading,
                  const std::string& rows);

}  // namespace octet::io
