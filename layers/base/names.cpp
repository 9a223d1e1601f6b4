#include "base/names.h"

#include <cctype>

#include <fmt/format.h>

#include <octet/layers/layer.h>

namespace octet {
namespace {

bool upper(char c) { return std::isupper(static_cast<unsigned char>(c)) != 0; }
bool lower(char c) { return std::islower(static_cast<unsigned char>(c)) != 0; }

/// Returns the end of the pattern element at `first` if it matches a character,
/// otherwise `first`: ?, a set [a-z0-9] or [!a-z], or the character.
size_t end_of_match(std::string_view pattern, size_t first, char c) {
  if (first >= pattern.size()) return first;
  const size_t close = pattern.find(']', first + 2);
  if (pattern[first] != '[' || close == std::string_view::npos) {
    return pattern[first] == '?' || pattern[first] == c ? first + 1 : first;
  }
  size_t at = first + 1;
  const bool excluded = pattern[at] == '!' && at + 1 < close;
  if (excluded) ++at;
  bool found = false;
  for (; at < close; ++at) {
    const bool range = at + 2 < close && pattern[at + 1] == '-';
    const char last = pattern[range ? at + 2 : at];
    found = found || (pattern[at] <= c && c <= last);
    if (range) at += 2;
  }
  return found != excluded ? close + 1 : first;
}

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
  if (name == pattern) return true;  // names may have brackets
  size_t at = 0;                     // position in the name
  size_t next = 0;                   // position in the pattern
  // Position of the last *, and the end of the characters that it matches so
  // far.
  size_t star = std::string_view::npos;
  size_t taken = 0;
  while (at < name.size()) {
    if (next < pattern.size() && pattern[next] == '*') {
      star = next++;
      taken = at;
    } else if (const size_t end = end_of_match(pattern, next, name[at]);
               end != next) {
      ++at;
      next = end;
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
