// Facts of a text for people: the names, numbers and calls in it, which tests
// compare without its wording. Quotes, brackets and digits are the conventions
// of Octet's messages: 'name', 0.5, x.reshaped({1,4}).
#pragma once

#include <cctype>
#include <charconv>
#include <string>
#include <string_view>
#include <vector>

namespace octet {

inline bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

/// Returns the text before its hint.
inline std::string_view without_hint(std::string_view text) {
  return text.substr(0, text.find("Hint: "));
}

/// Returns the names in single quotes, without apostrophes such as "model's".
inline std::vector<std::string> quoted_names(std::string_view text) {
  std::vector<std::string> names;
  for (size_t begin = 0; begin < text.size(); ++begin) {
    const bool opens =
        text[begin] == '\'' && (begin == 0 || !is_word(text[begin - 1]));
    if (!opens) continue;
    size_t end = text.find('\'', begin + 1);
    while (end != text.npos && end + 1 < text.size() && is_word(text[end + 1]))
      end = text.find('\'', end + 1);
    if (end == text.npos) break;
    names.emplace_back(text.substr(begin + 1, end - begin - 1));
    begin = end;
  }
  return names;
}

/// Returns the numbers, without digits of words such as "int8" or "2D".
inline std::vector<double> numbers_in(std::string_view text) {
  std::vector<double> numbers;
  for (size_t i = 0; i < text.size();) {
    const bool negative = text[i] == '-' && (i == 0 || !is_word(text[i - 1]));
    double number = 0;
    const size_t first = i + (negative ? 1 : 0);
    if (first < text.size() &&
        std::isdigit(static_cast<unsigned char>(text[first])) != 0) {
      const auto parsed =
          std::from_chars(&text[first], text.data() + text.size(), number);
      i = static_cast<size_t>(parsed.ptr - text.data());
      const bool word = i < text.size() && is_word(text[i]);
      if (!word) numbers.push_back(negative ? -number : number);
    } else if (is_word(text[i])) {
      while (i < text.size() && is_word(text[i])) ++i;
    } else {
      ++i;
    }
  }
  return numbers;
}

/// Returns the calls "object.method(arguments)".
inline std::vector<std::string> calls_in(std::string_view text) {
  std::vector<std::string> calls;
  for (size_t open = text.find('('); open != text.npos;
       open = text.find('(', open + 1)) {
    size_t begin = open;
    while (begin > 0 && (is_word(text[begin - 1]) || text[begin - 1] == '.'))
      --begin;
    const size_t close = text.find(')', open);
    const std::string_view name = text.substr(begin, open - begin);
    if (name.find('.') == name.npos || close == text.npos) continue;
    calls.emplace_back(text.substr(begin, close + 1 - begin));
  }
  return calls;
}

/// Returns the lines, without their ends.
inline std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const size_t end = text.find('\n');
    lines.emplace_back(text.substr(0, end));
    text = end == text.npos ? std::string_view() : text.substr(end + 1);
  }
  return lines;
}

}  // namespace octet
