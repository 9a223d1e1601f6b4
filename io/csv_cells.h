// Text and numbers of CSV cells.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace octet::io {

/// Returns the text of a cell without spaces around it.
inline std::string_view trimmed(std::string_view text) {
  constexpr std::string_view kSpaces = " \t\r\n";
  const size_t first = text.find_first_not_of(kSpaces);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpaces) - first + 1);
}

/// Returns a number, finite or not, if the whole text is one.
template <class Number>
std::optional<Number> number_in(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  Number value{};
  const char* const end = text.data() + text.size();
  const auto [last, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || last != end) return std::nullopt;
  return value;
}

}  // namespace octet::io
