#include "name_pattern.h"

// g++ 12 takes parts of std::regex for uninitialized under the sanitizers.
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#include <regex>

#include <fmt/format.h>

#include <octet/runtime/error.h>

namespace octet::quant {

void check_name_pattern(const std::string& pattern) {
  try {
    (void)std::regex(pattern);
  } catch (const std::regex_error& e) {
    throw ValueError(
        fmt::format("spec: expected a regular expression, got '{}': {}",
                    pattern, e.what()));
  }
}

bool matches_name(const std::string& pattern, std::string_view name) {
  return std::regex_match(name.begin(), name.end(), std::regex(pattern));
}

}  // namespace octet::quant
