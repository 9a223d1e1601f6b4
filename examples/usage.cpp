#include "usage.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include <octet/runtime/near_names.h>

namespace octet::program {
namespace {

/// The command whose words these are: `app` or one below it.
const CLI::App& chosen_in(const CLI::App& app) {
  const CLI::App* at = &app;
  while (!at->get_subcommands().empty()) at = at->get_subcommands().back();
  return *at;
}

std::string full_name(const CLI::App& app, const CLI::App& chosen) {
  return &app == &chosen
             ? app.get_name()
             : fmt::format("{} {}", app.get_name(), chosen.get_name());
}

/// "--json", "--input", ...
std::vector<std::string> option_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      names.push_back("--" + name);
    }
  }
  return names;
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands({})) {
    names.push_back(command->get_name());
  }
  return names;
}

/// "--input (X.npy: ...)" for each argument that is required and not there.
std::vector<std::string> missing_in(const CLI::App& chosen) {
  std::vector<std::string> missing;
  for (const CLI::Option* option : chosen.get_options()) {
    if (!option->get_required() || option->count() > 0) continue;
    missing.push_back(
        fmt::format("{} ({})", option->get_name(), option->get_description()));
  }
  return missing;
}

std::string unknown_option(const CLI::App& app, const CLI::App& chosen,
                           const std::string& word) {
  const std::string name = word.substr(0, word.find('='));
  const std::vector<std::string> names = option_names(chosen);
  if (std::ranges::find(names, name) != names.end()) {
    return fmt::format("{}: expected {} behind {}, got it before",
                       app.get_name(), name, chosen.get_name());
  }
  return fmt::format("{}: expected an option that it has, got '{}'{}",
                     full_name(app, chosen), name, suggest_names(name, names));
}

}  // namespace

std::string explain_usage(const CLI::App& app, const CLI::Error& error) {
  const CLI::App& chosen = chosen_in(app);
  const std::string name = full_name(app, chosen);
  const std::vector<std::string> commands = command_names(chosen);
  const std::vector<std::string> extra = app.remaining(true);
  const std::string missing =
      fmt::format("{}", fmt::join(missing_in(chosen), ", "));
  const auto* validation = dynamic_cast<const CLI::ValidationError*>(&error);
  if (validation == nullptr && !extra.empty()) {
    const std::string& word = extra.front();
    if (word.size() > 1 && word.starts_with('-')) {
      return unknown_option(app, chosen, word);
    }
    if (!commands.empty()) {
      return fmt::format("{}: expected a command, got '{}'{}", name, word,
                         suggest_names(word, commands));
    }
    return fmt::format("{}: expected {}, got '{}'", name,
                       missing.empty() ? "no more arguments" : missing,
                       fmt::join(extra, "' '"));
  }
  if (dynamic_cast<const CLI::RequiredError*>(&error) == nullptr) {
    return error.what();
  }
  if (!missing.empty()) {
    return fmt::format("{}: expected {}, got none", name, missing);
  }
  return commands.empty() ? error.what()
                          : fmt::format("{}: expected a command ({}), got none",
                                        name, fmt::join(commands, ", "));
}

}  // namespace octet::program
