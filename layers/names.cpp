#include "names.h"

#include <cctype>

namespace octet {
namespace {

bool upper(char c) { return std::isupper(static_cast<unsigned char>(c)) != 0; }
bool lower(char c) { return std::islower(static_cast<unsigned char>(c)) != 0; }

}  // namespace

std::string snake_case(std::string_view name) {
  std::string result;
  for (size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    const bool word_begins =
        i > 0 && upper(c) &&
        (lower(name[i - 1]) || (i + 1 < name.size() && lower(name[i + 1])));
    if (word_begins) result += '_';
    result += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return result;
}

bool fits_pattern(std::string_view name, std::string_view pattern) {
  size_t at = 0;    // in the name
  size_t next = 0;  // in the pattern
  // Where the last * stands, and what it has taken so far ends.
  size_t star = std::string_view::npos;
  size_t taken = 0;
  while (at < name.size()) {
    if (next < pattern.size() && pattern[next] == '*') {
      star = next++;
      taken = at;
    } else if (next < pattern.size() &&
               (pattern[next] == '?' || pattern[next] == name[at])) {
      ++at;
      ++next;
    } else if (star != std::string_view::npos) {
      next = star + 1;
      at = ++taken;
    } else {
      return false;
    }
  }
  while (next < pattern.size() && pattern[next] == '*') ++next;
  return next == pattern.size();
}

}  // namespace octet
