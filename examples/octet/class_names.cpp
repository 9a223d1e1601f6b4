#include "class_names.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <system_error>

#include <fmt/format.h>

#include <octet/io/json.h>
#include <octet/runtime/detail/printable.h>
#include <octet/runtime/error.h>
#include <octet/runtime/file.h>

namespace octet::program {
namespace {

namespace fs = std::filesystem;

std::string trimmed(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r";
  const size_t first = text.find_first_not_of(kSpace);
  if (first == text.npos) return "";
  return std::string(
      text.substr(first, text.find_last_not_of(kSpace) - first + 1));
}

std::string unquoted(std::string_view text) {
  std::string word = trimmed(text);
  const bool quoted = word.size() >= 2 && word.front() == word.back() &&
                      (word.front() == '"' || word.front() == '\'');
  return quoted ? word.substr(1, word.size() - 2) : word;
}

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (;;) {
    const size_t end = std::min(text.find(separator), text.size());
    parts.emplace_back(text.substr(0, end));
    if (end == text.size()) return parts;
    text.remove_prefix(end + 1);
  }
}

std::optional<int64_t> number_in(std::string_view word) {
  int64_t number = 0;
  const char* end = word.data() + word.size();
  const auto [rest, error] = std::from_chars(word.data(), end, number);
  if (error != std::errc() || rest != end || number < 0) return std::nullopt;
  return number;
}

/// Returns names in the order of their numbers, which must be 0, 1, ...
std::vector<std::string> in_order(const std::map<int64_t, std::string>& names) {
  std::vector<std::string> list;
  for (const auto& [number, name] : names) {
    if (number != std::ssize(list)) {
      throw FormatError(
          "missing_value", "class names",
          fmt::format("no name for number {}; numbers must be 0, 1, ...",
                      list.size()));
    }
    list.push_back(name);
  }
  return list;
}

std::vector<std::string> names_in_json(const std::string& text) {
  const Config config = io::from_json(text);
  std::vector<std::string> list;
  if (config.is_list()) {
    for (const Config& name : config.as_list()) {
      list.push_back(name.as_string());
    }
    return list;
  }
  std::map<int64_t, std::string> names;
  for (const auto& [key, value] : config.as_object()) {
    const auto number = number_in(key);
    if (number && value.is_list()) {
      // {"0": ["n01440764", "tench"]}: folder and description.
      names[*number] = value.as_list().at(0).as_string();
    } else if (number && value.is_string()) {
      names[*number] = value.as_string();
    } else {
      names[value.as_int()] = key;
    }
  }
  if (std::ssize(names) != std::ssize(config.as_object())) {
    throw FormatError("duplicate_name", "class names",
                      "numbers must be unique");
  }
  return in_order(names);
}

/// Returns the `names` of a data.yaml: "names: [a, b]", or lines "- a" or "0:
/// a" below "names:".
std::vector<std::string> names_in_yaml(const std::string& text) {
  std::vector<std::string> list;
  std::map<int64_t, std::string> numbered;
  bool inside = false;
  for (const std::string& line : split(text, '\n')) {
    const std::string word = trimmed(line.substr(0, line.find(" #")));
    if (word.empty() || word.starts_with('#')) continue;
    if (word.starts_with("names:")) {
      const std::string rest = trimmed(word.substr(6));
      if (rest.starts_with('[') && rest.ends_with(']')) {
        for (const std::string& name :
             split(rest.substr(1, rest.size() - 2), ',')) {
          list.push_back(unquoted(name));
        }
        return list;
      }
      inside = true;
      continue;
    }
    if (!inside) continue;
    const size_t colon = word.find(':');
    const auto number = number_in(std::string_view(word).substr(0, colon));
    if (word.starts_with("- ")) {
      list.push_back(unquoted(word.substr(2)));
    } else if (colon != word.npos && number) {
      numbered[*number] = unquoted(word.substr(colon + 1));
    } else {
      break;
    }
  }
  return numbered.empty() ? list : in_order(numbered);
}

std::vector<std::string> names_in_file(const fs::path& path) {
  constexpr int64_t kLargest = int64_t{1} << 24;
  const std::string text = read_file(path, kLargest);
  const std::string extension = path.extension().string();
  if (extension == ".json") return names_in_json(text);
  if (extension == ".yaml" || extension == ".yml") return names_in_yaml(text);
  std::vector<std::string> names;
  for (const std::string& line : split(text, '\n')) {
    names.push_back(trimmed(line));
  }
  while (!names.empty() && names.back().empty()) names.pop_back();
  return names;
}

/// Returns whether the value of --class-names is a file name.
bool is_path(const std::string& text) {
  std::error_code ignored;
  if (fs::exists(text, ignored)) return true;
  const std::string extension = fs::path(text).extension().string();
  return text.find(',') == text.npos &&
         (text.find('/') != text.npos || extension == ".txt" ||
          extension == ".json" || extension == ".yaml" || extension == ".yml" ||
          extension == ".names");
}

}  // namespace

std::vector<std::string> parse_class_names(const std::string& text) {
  std::vector<std::string> names;
  if (is_path(text)) {
    names =
        with_context([&] { return fmt::format("in --class-names '{}'", text); },
                     [&] { return names_in_file(text); });
  } else {
    for (const std::string& name : split(text, ',')) {
      names.push_back(trimmed(name));
    }
  }
  if (names.size() < 2) {
    throw ValueError("invalid_value", "--class-names",
                     fmt::format("must be a file with one name per line, or "
                                 "names like cat,dog, got '{}'",
                                 printable(text, 80)));
  }
  std::set<std::string> seen;
  for (size_t i = 0; i < names.size(); ++i) {
    if (!names[i].empty() && seen.insert(names[i]).second) continue;
    if (names[i].empty()) {
      throw ValueError("invalid_value", "--class-names",
                       fmt::format("name {} is empty", i));
    }
    throw ValueError(
        "duplicate_name", "--class-names",
        fmt::format("name {}, '{}', is repeated", i, printable(names[i], 80)));
  }
  return names;
}

}  // namespace octet::program
