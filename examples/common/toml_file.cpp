#include "toml_file.h"

#include <algorithm>
#include <cstdint>
#include <string_view>

#include <fmt/format.h>

#include <octet/runtime/error.h>
#include <octet/runtime/file.h>

namespace octet::program {
namespace {

constexpr int64_t kLargestFile = 1 << 20;
constexpr int kMostParts = 16;
constexpr int kMostDepth = 16;

/// Returns the end of the string that starts with a quote at `at`. A
/// single-line string ends with its line at the latest, where the parser
/// rejects it.
size_t end_of_string(std::string_view text, size_t at) {
  const char quote = text[at];
  const std::string three(3, quote);
  const bool lines = text.substr(at, 3) == three;
  for (size_t i = at + (lines ? 3 : 1); i < text.size(); ++i) {
    if (quote == '"' && text[i] == '\\') {
      ++i;
    } else if (lines) {
      if (text.substr(i, 3) == three) return i + 3;
    } else if (text[i] == quote || text[i] == '\n') {
      return text[i] == quote ? i + 1 : i;
    }
  }
  return text.size();
}

/// Returns the line of the first key or value that is nested too deeply; 0 if
/// there is none.
int line_too_deep(std::string_view text) {
  int line = 1, depth = 0, points = 0;
  for (size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c == '"' || c == '\'') {
      const size_t end = end_of_string(text, at);
      for (; at < end; ++at) line += text[at] == '\n' ? 1 : 0;
      continue;
    }
    if (c == '#') {
      at = std::min(text.find('\n', at), text.size());
      continue;
    }
    ++at;
    if (c == '[' || c == '{') ++depth;
    if ((c == ']' || c == '}') && depth > 0) --depth;
    if (c == '.') ++points;
    if (c == '=' || c == ',' || c == '\n') points = 0;
    if (points >= kMostParts || depth > kMostDepth) return line;
    if (c == '\n') ++line;
  }
  return 0;
}

}  // namespace

toml::table read_toml(const std::string& path) {
  const std::string text = read_file(path, kLargestFile);
  if (const int line = line_too_deep(text); line > 0) {
    throw FormatError("size_limit", path,
                      fmt::format("keys must have at most {} parts, and lists "
                                  "at most {} levels, got more in line {}",
                                  kMostParts, kMostDepth, line));
  }
  try {
    return toml::parse(text, path);
  } catch (const toml::parse_error& error) {
    throw FormatError(
        "malformed_file", path,
        fmt::format("invalid TOML in line {}: {}", error.source().begin.line,
                    error.description()));
  }
}

}  // namespace octet::program
