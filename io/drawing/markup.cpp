#include "markup.h"

#include <algorithm>

#include "printable.h"

namespace octet::io {
namespace {

bool begins_character(char c) { return (c & 0xC0) != 0x80; }

}  // namespace

std::string markup_text(std::string_view text) {
  std::string result;
  for (const char c : printable(text, text.size())) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      case '\'':
        result += "&#39;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

size_t count_characters(std::string_view text) {
  return static_cast<size_t>(std::ranges::count_if(text, begins_character));
}

std::string cut_text(std::string_view text, size_t characters) {
  const std::string whole = printable(text, text.size());
  if (count_characters(whole) <= characters) return whole;
  size_t end = 0, seen = 0;
  while (end < whole.size() &&
         !(begins_character(whole[end]) && ++seen == characters)) {
    ++end;
  }
  return whole.substr(0, end) + "\u2026";
}

}  // namespace octet::io
