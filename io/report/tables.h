// Tables of a report. Internal to io.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace octet::io {

/// Cells of text and of a number.
std::string cell(std::string_view text);
std::string number(std::string_view text);

/// Table that scrolls on narrow screens and is sorted by its headings. Headings
/// of number columns begin with '#'.
std::string table(const std::vector<std::string_view>& heading,
                  const std::string& rows);

/// Contents that a reader can show and hide.
std::string details(std::string_view summary, const std::string& html,
                    bool open = false);

/// "0.0125 %" with four decimals; "< 0.0001 %" for less.
std::string small_percent(double share);

}  // namespace octet::io
