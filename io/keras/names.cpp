#include "keras/names.h"

#include <algorithm>

#include <fmt/format.h>

#include <octet/runtime/detail/near_names.h>

namespace octet::io {
namespace {

bool upper(char c) { return c >= 'A' && c <= 'Z'; }
bool lower(char c) { return c >= 'a' && c <= 'z'; }

}  // namespace

std::vector<std::string> components(const std::string& name) {
  std::vector<std::string> result{""};
  for (const char c : name) {
    if (c == '/') {
      result.emplace_back();
    } else {
      result.back() += c;
    }
  }
  return result;
}

// Source: keras/src/utils/naming.py, to_snake_case: two substitutions, of
// (.)([A-Z][a-z]+) and then of ([a-z])([A-Z]), without overlaps.
std::string keras_snake_case(const std::string& class_name) {
  std::string words;
  for (const char c : class_name) {
    const bool word =
        upper(c) || lower(c) || (c >= '0' && c <= '9') || c == '_';
    if (word) words += c;
  }
  std::string first;
  for (size_t i = 0; i < words.size();) {
    first += words[i++];
    if (i + 1 >= words.size() || !upper(words[i]) || !lower(words[i + 1])) {
      continue;
    }
    first += '_';
    first += words[i++];
    while (i < words.size() && lower(words[i])) first += words[i++];
  }
  std::string result;
  for (size_t i = 0; i < first.size(); ++i) {
    result += first[i];
    if (lower(first[i]) && i + 1 < first.size() && upper(first[i + 1])) {
      result += '_';
      result += first[++i];
    }
  }
  for (char& c : result) {
    if (upper(c)) c = static_cast<char>(c - 'A' + 'a');
  }
  return result;
}

std::string suggestions(const std::string& wanted,
                        const std::vector<std::string>& names) {
  constexpr size_t kMost = 1000;
  constexpr size_t kLongest = 200;
  if (names.size() > kMost || wanted.size() > kLongest) return "";
  const bool long_name = std::ranges::any_of(
      names, [](const std::string& name) { return name.size() > kLongest; });
  return long_name ? "" : suggest_names(wanted, names);
}

std::string listed(const std::vector<std::string>& items) {
  constexpr size_t kMost = 20;
  if (items.empty()) return "none";
  if (items.size() <= kMost) return fmt::format("{}", fmt::join(items, ", "));
  return fmt::format("{}, ... ({} in total)",
                     fmt::join(items.begin(), items.begin() + kMost, ", "),
                     items.size());
}

}  // namespace octet::io
