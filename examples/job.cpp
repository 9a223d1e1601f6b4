#include "job.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <toml++/toml.h>

#include <octet/runtime/error.h>
#include <octet/runtime/file.h>
#include <octet/runtime/near_names.h>

#include "command_line.h"

namespace octet::program {
namespace {

constexpr int64_t kLargestJob = 1 << 20;

toml::table table_in(const std::string& path) {
  const std::string text = read_file(path, kLargestJob);
  try {
    return toml::parse(text, path);
  } catch (const toml::parse_error& error) {
    throw FormatError(fmt::format("'{}': expected TOML, got in line {}: {}",
                                  path, error.source().begin.line,
                                  error.description()));
  }
}

uint32_t line_of(const toml::node& node) { return node.source().begin.line; }

/// The entries of a table in the order of the file; of equal keys, as
/// [[evaluate]] has them, each.
std::vector<std::pair<std::string_view, const toml::node*>> entries_of(
    const toml::table& table) {
  std::vector<std::pair<std::string_view, const toml::node*>> entries;
  for (const auto& [key, node] : table) {
    if (node.is_array_of_tables()) {
      for (const toml::node& one : *node.as_array()) {
        entries.emplace_back(key.str(), &one);
      }
    } else {
      entries.emplace_back(key.str(), &node);
    }
  }
  std::ranges::stable_sort(
      entries, {}, [](const auto& entry) { return line_of(*entry.second); });
  return entries;
}

const CLI::App& command_named(const CLI::App& app, std::string_view name,
                              const std::string& path) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) {
    if (command->get_name() == "run") continue;
    if (command->get_name() == name) return *command;
    names.push_back(command->get_name());
  }
  throw UsageError(
      fmt::format("'{}': expected a command as a section, got "
                  "'[{}]'{}",
                  path, name, suggest_names(std::string(name), names)));
}

/// The option of a key.
const CLI::Option& option_of(const CLI::App& command, std::string_view key,
                             const std::string& path) {
  std::vector<std::string> keys;
  for (const CLI::Option* option : command.get_options()) {
    const auto& names = option->get_lnames();
    if (option->get_name(true) == key ||
        std::ranges::find(names, key) != names.end()) {
      return *option;
    }
    keys.insert(keys.end(), names.begin(), names.end());
    if (option->get_positional()) keys.push_back(option->get_name(true));
  }
  throw UsageError(fmt::format("'{}': expected a key that '{}' has, got '{}'{}",
                               path, command.get_name(), key,
                               suggest_names(std::string(key), keys)));
}

/// A string or a number as the command line has it; nothing for others.
std::optional<std::string> word_of(const toml::node& value) {
  if (const auto* text = value.as_string()) return text->get();
  if (const auto* whole = value.as_integer()) return fmt::to_string(**whole);
  if (const auto* real = value.as_floating_point()) {
    return fmt::to_string(**real);
  }
  return std::nullopt;
}

void add_words(const CLI::App& command, std::string_view key,
               const toml::node& value, const std::string& path,
               std::vector<std::string>& words) {
  const CLI::Option& option = option_of(command, key, path);
  const auto refuse = [&](const char* expected) {
    throw UsageError(fmt::format("'{}': expected {} as '{}' of '{}' in line {}",
                                 path, expected, key, command.get_name(),
                                 line_of(value)));
  };
  if (option.get_items_expected_max() == 0) {
    const auto* flag = value.as_boolean();
    if (flag == nullptr) refuse("true or false");
    if (**flag) words.push_back(fmt::format("--{}", key));
    return;
  }
  if (const toml::array* list = value.as_array()) {
    for (const toml::node& entry : *list) {
      if (entry.is_array()) refuse("a text, a number or a list of them");
      add_words(command, key, entry, path, words);
    }
    return;
  }
  const auto word = word_of(value);
  if (!word) refuse("a text, a number or a list of them");
  words.push_back(option.get_positional() ? *word
                                          : fmt::format("--{}={}", key, *word));
}

}  // namespace

std::vector<std::vector<std::string>> job_commands(const CLI::App& app,
                                                   const std::string& path) {
  const toml::table job = table_in(path);
  std::vector<std::vector<std::string>> commands;
  for (const auto& [name, section] : entries_of(job)) {
    const toml::table* keys = section->as_table();
    if (keys == nullptr) {
      throw UsageError(fmt::format(
          "'{}': expected keys in a section such as [train], got '{}'", path,
          name));
    }
    const CLI::App& command = command_named(app, name, path);
    std::vector<std::string>& words = commands.emplace_back();
    words.emplace_back(name);
    for (const auto& [key, value] : entries_of(*keys)) {
      add_words(command, key, *value, path, words);
    }
  }
  if (commands.empty()) {
    throw FormatError(fmt::format(
        "'{}': expected a section such as [train], got none", path));
  }
  return commands;
}

}  // namespace octet::program
