#include "job.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <octet/runtime/detail/near_names.h>
#include <octet/runtime/detail/printable.h>
#include <octet/runtime/error.h>

#include "command_line.h"
#include "synonyms.h"
#include "toml_file.h"

namespace octet::program {
namespace {

uint32_t line_of(const toml::node& node) { return node.source().begin.line; }

/// Returns the entries of a table in file order. A key with several tables,
/// such as [[evaluate]], has an entry for each.
std::vector<std::pair<std::string_view, const toml::node*>> entries_of(
    const toml::table& table) {
  std::vector<std::pair<std::string_view, const toml::node*>> entries;
  for (const auto& [key, node] : table) {
    if (node.is_array_of_tables()) {
      for (const toml::node& table_of_key : *node.as_array()) {
        entries.emplace_back(key.str(), &table_of_key);
      }
    } else {
      entries.emplace_back(key.str(), &node);
    }
  }
  std::ranges::stable_sort(
      entries, {}, [](const auto& entry) { return line_of(*entry.second); });
  return entries;
}

/// Rejects a word with NUL, which would end a command line argument.
void check_word(std::string_view word, std::string_view what, uint32_t line,
                const std::string& path) {
  if (word.find('\0') == word.npos) return;
  throw UsageError("invalid_value", path,
                   fmt::format("{}: {} must not contain NUL, got {} in line {}",
                               path, what, printable(word, 80), line));
}

const CLI::App& command_named(const CLI::App& app, std::string_view name,
                              const std::string& path) {
  const CLI::App* found = find_command(app, name);
  if (found != nullptr && found->get_name() != "run") return *found;
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) {
    if (command->get_name() != "run") names.push_back(command->get_name());
  }
  throw UsageError("unknown_name", fmt::format("[{}]", name),
                   fmt::format("{}: unknown command '[{}]'{}", path, name,
                               suggest_names(std::string(name), names)));
}

/// Returns the option or argument that a key names.
const CLI::Option& option_of(const CLI::App& command, std::string_view key,
                             const std::string& path) {
  std::vector<std::string> keys;
  for (const CLI::Option* option : command.get_options()) {
    if (option->get_name(true) == key && option->get_positional()) {
      return *option;
    }
    const auto& names = option->get_lnames();
    keys.insert(keys.end(), names.begin(), names.end());
    if (option->get_positional()) keys.push_back(option->get_name(true));
  }
  if (const CLI::Option* found = find_option(command, key)) return *found;
  throw UsageError(
      "unknown_option", std::string(key),
      fmt::format("{}: '{}' has no option '{}'{}", path, command.get_name(),
                  key, suggest_names(std::string(key), keys)));
}

/// Returns a string or number as a command line word, nullopt for other types.
std::optional<std::string> word_of(const toml::node& value) {
  if (const auto* text = value.as_string()) return text->get();
  if (const auto* whole = value.as_integer()) return fmt::to_string(**whole);
  if (const auto* real = value.as_floating_point()) {
    return fmt::to_string(**real);
  }
  return std::nullopt;
}

/// Words of a section: options, and values by argument.
struct Words {
  std::vector<std::string> options;
  std::map<const CLI::Option*, std::vector<std::string>> arguments;
};

void add_word(const CLI::Option& option, std::string word, Words& words) {
  if (option.get_lnames().empty()) {
    words.arguments[&option].push_back(std::move(word));
  } else if (word.empty()) {
    // After "--name=" the parser would consume the next word.
    words.options.push_back("--" + option.get_lnames()[0]);
    words.options.emplace_back();
  } else {
    words.options.push_back(
        fmt::format("--{}={}", option.get_lnames()[0], word));
  }
}

void add_words(const CLI::App& command, std::string_view key,
               const toml::node& value, const std::string& path, Words& words) {
  const CLI::Option& option = option_of(command, key, path);
  const auto refuse = [&](const char* expected) {
    throw UsageError(
        "invalid_value", std::string(key),
        fmt::format("{}: '{}' of '{}' must be {}, in line {}", path, key,
                    command.get_name(), expected, line_of(value)));
  };
  const auto* flag = value.as_boolean();
  if (flag != nullptr && option.get_items_expected_max() > 0 &&
      option.get_items_expected_min() == 0) {
    // "--pad" has an optional value.
    if (**flag) add_word(option, "", words);
    return;
  }
  if (option.get_items_expected_max() == 0) {
    if (flag == nullptr) refuse("true or false");
    if (**flag) words.options.push_back("--" + option.get_lnames()[0]);
    return;
  }
  if (const toml::array* list = value.as_array()) {
    for (const toml::node& entry : *list) {
      if (entry.is_array()) refuse("a string, a number or a list of them");
      add_words(command, key, entry, path, words);
    }
    return;
  }
  auto word = word_of(value);
  if (!word) refuse("a string, a number or a list of them");
  check_word(*word, "value", line_of(value), path);
  add_word(option, std::move(*word), words);
}

/// Returns the words of a command: options first, so that no argument is parsed
/// as the value of an option, then arguments in the command's order.
/// Throws: UsageError for an argument that is missing before a given one.
std::vector<std::string> in_order(const CLI::App& command, Words words,
                                  const std::string& path) {
  std::vector<std::string> result = {command.get_name()};
  std::ranges::move(words.options, std::back_inserter(result));
  if (words.arguments.empty()) return result;
  result.emplace_back("--");
  std::string missing;
  for (const CLI::Option* option : command.get_options()) {
    if (!option->get_positional() || !option->get_lnames().empty()) continue;
    const auto found = words.arguments.find(option);
    if (found == words.arguments.end()) {
      if (missing.empty()) missing = option->get_name(true);
      continue;
    }
    if (!missing.empty()) {
      throw UsageError("missing_value", missing,
                       fmt::format("{}: '{}' needs a key '{}'", path,
                                   command.get_name(), missing));
    }
    std::ranges::move(found->second, std::back_inserter(result));
  }
  return result;
}

}  // namespace

std::vector<std::vector<std::string>> job_commands(const CLI::App& app,
                                                   const std::string& path) {
  const toml::table job = read_toml(path);
  std::vector<std::vector<std::string>> commands;
  for (const auto& [name, section] : entries_of(job)) {
    const toml::table* keys = section->as_table();
    if (keys == nullptr) {
      throw UsageError(
          "misplaced_option", std::string(name),
          fmt::format("{}: '{}' must be in a section such as [train]", path,
                      name));
    }
    const CLI::App& command = command_named(app, name, path);
    Words words;
    for (const auto& [key, value] : entries_of(*keys)) {
      add_words(command, key, *value, path, words);
    }
    commands.push_back(in_order(command, std::move(words), path));
  }
  if (commands.empty()) {
    throw FormatError("missing_value", path, "has no section such as [train]");
  }
  return commands;
}

}  // namespace octet::program
