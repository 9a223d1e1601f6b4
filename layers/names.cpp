#include "names.h"

#include <cctype>

#include <fmt/format.h>

#include <octet/layers/layer.h>

namespace octet {
namespace {

bool upper(char c) { return std::isupper(static_cast<unsigned char>(c)) != 0; }
bool lower(char c) { return std::islower(static_cast<unsigned char>(c)) != 0; }

}  // namespace

std::string subject_of(const Layer& layer) {
  if (layer.name().empty()) return layer.class_name();
  return fmt::format("{} '{}'", layer.class_name(), layer.name());
}

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
  size_t at = 0;    // position in the name
  size_t next = 0;  // position in the pattern
  // Position of the last *, and the end of the characters that it matches so
  // far.
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
