#include "usage_errors.h"

#include <algorithm>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <octet/runtime/near_names.h>

namespace octet::program {
namespace {

/// Returns the chosen command: `app` or a command below it.
const CLI::App& chosen_in(const CLI::App& app) {
  const CLI::App* at = &app;
  while (!at->get_subcommands().empty()) at = at->get_subcommands().back();
  return *at;
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

/// Returns "--input (samples)" for each required option that is missing.
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
  for (const CLI::Option* option : chosen.get_options()) {
    if (!option->get_positional() || "--" + option->get_name(true) != name) {
      continue;
    }
    return fmt::format("{}: {} is an argument; omit '{}'",
                       full_name(app, chosen), option->get_name(true), name);
  }
  const std::vector<std::string> names = option_names(chosen);
  if (std::ranges::find(names, name) != names.end()) {
    return fmt::format("{}: {} must follow the command {}", app.get_name(),
                       name, chosen.get_name());
  }
  return fmt::format("{}: unknown option '{}'{}", full_name(app, chosen), name,
                     suggest_names(name, names));
}

/// Returns "--rate was given several times: '1' and '2'" for the first option
/// with too many values.
std::string given_again(const CLI::App& chosen) {
  for (const CLI::Option* option : chosen.get_options()) {
    if (static_cast<int>(option->count()) > option->get_items_expected_max() &&
        option->get_items_expected_max() > 0) {
      return fmt::format("{} was given several times: '{}'", option->get_name(),
                         fmt::join(option->results(), "' and '"));
    }
  }
  return {};
}

}  // namespace

std::string full_name(const CLI::App& app, const CLI::App& chosen) {
  return &app == &chosen
             ? app.get_name()
             : fmt::format("{} {}", app.get_name(), chosen.get_name());
}

std::string explain(const CLI::App& app, const CLI::Error& error) {
  const CLI::App& chosen = chosen_in(app);
  const std::string name = full_name(app, chosen);
  const std::vector<std::string> commands = command_names(chosen);
  std::vector<std::string> extra = app.remaining(true);
  std::erase(extra, "--");
  const std::string missing =
      fmt::format("{}", fmt::join(missing_in(chosen), ", "));
  // The parser may have treated the value of an unknown option as an argument.
  const auto unknown = std::ranges::find_if(extra, [](const std::string& word) {
    return word.size() > 1 && word.starts_with('-');
  });
  if (unknown != extra.end()) return unknown_option(app, chosen, *unknown);
  if (const std::string again = given_again(chosen); !again.empty()) {
    return fmt::format("{}: {}", name, again);
  }
  const auto* validation = dynamic_cast<const CLI::ValidationError*>(&error);
  if (validation == nullptr && !extra.empty()) {
    const std::string& word = extra.front();
    if (!commands.empty()) {
      return fmt::format("{}: unknown command '{}'{}", name, word,
                         suggest_names(word, commands));
    }
    return fmt::format("{}: unexpected argument '{}'{}", name,
                       fmt::join(extra, "' '"),
                       missing.empty() ? "" : "; missing: " + missing);
  }
  if (dynamic_cast<const CLI::RequiredError*>(&error) == nullptr) {
    return error.what();
  }
  if (!missing.empty()) {
    return fmt::format("{}: missing {}", name, missing);
  }
  return commands.empty() ? error.what()
                          : fmt::format("{}: missing command (one of {})", name,
                                        fmt::join(commands, ", "));
}

}  // namespace octet::program
