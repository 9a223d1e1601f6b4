#include "job.h"

#include <algorithm>
#include <sstream>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <octet/runtime/error.h>
#include <octet/runtime/file.h>
#include <octet/runtime/near_names.h>

#include "command_line.h"

namespace octet::program {
namespace {

constexpr int64_t kLargestJob = 1 << 20;

std::vector<CLI::ConfigItem> items_in(const std::string& path) {
  std::istringstream text(read_file(path, kLargestJob));
  try {
    return CLI::ConfigTOML().from_config(text);
  } catch (const CLI::Error& error) {
    throw FormatError(
        fmt::format("'{}': expected TOML, got: {}", path, error.what()));
  }
}

const CLI::App& command_named(const CLI::App& app, const std::string& name,
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
                  path, name, suggest_names(name, names)));
}

/// The option of a key; none where the command has no such.
const CLI::Option* option_of(const CLI::App& command, const std::string& key) {
  for (const CLI::Option* option : command.get_options()) {
    const auto& names = option->get_lnames();
    if (option->get_name(true) == key ||
        std::ranges::find(names, key) != names.end()) {
      return option;
    }
  }
  return nullptr;
}

void add_words(const CLI::App& command, const CLI::ConfigItem& item,
               const std::string& path, std::vector<std::string>& words) {
  const CLI::Option* option = option_of(command, item.name);
  if (option == nullptr) {
    std::vector<std::string> keys;
    for (const CLI::Option* known : command.get_options()) {
      for (const std::string& name : known->get_lnames()) keys.push_back(name);
      if (known->get_positional()) keys.push_back(known->get_name(true));
    }
    throw UsageError(fmt::format(
        "'{}': expected a key that '{}' has, got '{}'{}", path,
        command.get_name(), item.name, suggest_names(item.name, keys)));
  }
  const bool flag = option->get_items_expected_max() == 0;
  for (const std::string& value : item.inputs) {
    if (flag) {
      if (value != "true" && value != "false") {
        throw UsageError(
            fmt::format("'{}': expected true or false as '{}' of '{}', got "
                        "'{}'",
                        path, item.name, command.get_name(), value));
      }
      if (value == "true") words.push_back("--" + item.name);
    } else if (option->get_positional()) {
      words.push_back(value);
    } else {
      words.push_back(fmt::format("--{}={}", item.name, value));
    }
  }
}

}  // namespace

std::vector<std::vector<std::string>> job_commands(const CLI::App& app,
                                                   const std::string& path) {
  std::vector<std::vector<std::string>> commands;
  for (const CLI::ConfigItem& item : items_in(path)) {
    if (item.name == "++" || item.name == "--") continue;  // section marks
    if (item.parents.size() != 1) {
      throw UsageError(fmt::format(
          "'{}': expected keys in a section such as [train], got '{}'", path,
          item.fullname()));
    }
    const CLI::App& command = command_named(app, item.parents[0], path);
    auto words = std::ranges::find(commands, item.parents[0],
                                   [](const auto& c) { return c.front(); });
    if (words == commands.end()) {
      words = commands.insert(words, {item.parents[0]});
    }
    add_words(command, item, path, *words);
  }
  if (commands.empty()) {
    throw FormatError(fmt::format(
        "'{}': expected a section such as [train], got none", path));
  }
  return commands;
}

}  // namespace octet::program
