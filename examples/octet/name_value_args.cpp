#include "name_value_args.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <octet/runtime/detail/near_names.h>
#include <octet/runtime/error.h>

namespace octet::program {
namespace {

bool is_named(const std::string& value, const std::string& name) {
  return value.starts_with(name + "=");
}

/// Returns the index of the name that `value` starts with, followed by "=".
size_t name_of(const std::string& value,
               const std::vector<std::string>& names) {
  const auto found = std::ranges::find_if(
      names, [&](const std::string& name) { return is_named(value, name); });
  return static_cast<size_t>(found - names.begin());
}

}  // namespace

std::vector<std::string> paths_for(std::string_view option,
                                   const std::vector<std::string>& values,
                                   const std::vector<std::string>& names,
                                   const std::vector<std::string>& file) {
  return values_for(option, "file", values, names, file);
}

std::vector<std::string> values_for(std::string_view option,
                                    std::string_view what,
                                    const std::vector<std::string>& values,
                                    const std::vector<std::string>& names,
                                    const std::vector<std::string>& file) {
  const std::vector<std::string>& shown = file.empty() ? names : file;
  std::vector<std::string> found(names.size());
  for (const std::string& value : values) {
    size_t which = name_of(value, shown);
    if (which == names.size()) which = name_of(value, names);
    const bool named = which < names.size();
    const size_t end = value.find('=');
    // With a single name, the value may be a path that contains "=".
    std::error_code ignored;
    const bool path = names.size() == 1 &&
                      (end == std::string::npos ||
                       value.substr(0, end).find('/') != std::string::npos ||
                       std::filesystem::exists(value, ignored));
    if (!named && !path) {
      throw ValueError(
          "unknown_name", option,
          fmt::format("must be NAME={} with one of '{}', got '{}'{}",
                      what == "file" ? "FILE" : "VALUE",
                      fmt::join(shown, "', '"), value,
                      end == std::string::npos
                          ? ""
                          : suggest_names(value.substr(0, end), shown)));
    }
    if (!named) which = 0;
    if (!found[which].empty()) {
      throw ValueError("duplicate_name", option,
                       fmt::format("got two values for '{}'", shown[which]));
    }
    const std::string& name =
        is_named(value, shown[which]) ? shown[which] : names[which];
    found[which] = named ? value.substr(name.size() + 1) : value;
  }
  return found;
}

}  // namespace octet::program
