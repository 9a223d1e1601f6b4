#include "usage_errors.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <octet/runtime/detail/near_names.h>

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

/// Returns the required options that are missing.
std::vector<const CLI::Option*> missing_in(const CLI::App& chosen) {
  std::vector<const CLI::Option*> missing;
  for (const CLI::Option* option : chosen.get_options()) {
    if (!option->get_required() || option->count() > 0) continue;
    missing.push_back(option);
  }
  return missing;
}

/// Returns "--input (samples), --output (output file)".
std::string described(const std::vector<const CLI::Option*>& options) {
  std::vector<std::string> texts;
  texts.reserve(options.size());
  for (const CLI::Option* option : options) {
    texts.push_back(
        fmt::format("{} ({})", option->get_name(), option->get_description()));
  }
  return fmt::format("{}", fmt::join(texts, ", "));
}

UsageError unknown_option(const CLI::App& app, const std::string& word) {
  const CLI::App& chosen = chosen_in(app);
  const std::string name = word.substr(0, word.find('='));
  for (const CLI::Option* option : chosen.get_options()) {
    if (!option->get_positional() || "--" + option->get_name(true) != name) {
      continue;
    }
    return UsageError(
        "unknown_option", name,
        fmt::format("{}: {} is an argument; omit '{}'", full_name(app, chosen),
                    option->get_name(true), name));
  }
  const std::vector<std::string> names = option_names(chosen);
  if (std::ranges::find(names, name) != names.end()) {
    return UsageError("misplaced_option", name,
                      fmt::format("{}: {} must follow the command {}",
                                  app.get_name(), name, chosen.get_name()));
  }
  return UsageError(
      "unknown_option", name,
      fmt::format("{}: unknown option '{}'{}", full_name(app, chosen), name,
                  suggest_names(name, names)));
}

/// Returns an error for the first option with too many values.
std::optional<UsageError> given_again(const CLI::App& app) {
  const CLI::App& chosen = chosen_in(app);
  for (const CLI::Option* option : chosen.get_options()) {
    if (static_cast<int>(option->count()) > option->get_items_expected_max() &&
        option->get_items_expected_max() > 0) {
      return UsageError("repeated_option", option->get_name(),
                        fmt::format("{}: {} was given several times: '{}'",
                                    full_name(app, chosen), option->get_name(),
                                    fmt::join(option->results(), "' and '")));
    }
  }
  return {};
}

/// Returns an error of the parser, whose text begins with the option.
UsageError parse_error(const CLI::Error& error) {
  const std::string text = error.what();
  const std::string option = text.substr(0, text.find_first_of(": "));
  if (dynamic_cast<const CLI::ExcludesError*>(&error) != nullptr ||
      dynamic_cast<const CLI::RequiresError*>(&error) != nullptr) {
    return UsageError("conflicting_options", option, text);
  }
  if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) != nullptr) {
    return UsageError("missing_value", option, text);
  }
  return UsageError("invalid_value", option, text);
}

}  // namespace

std::string full_name(const CLI::App& app, const CLI::App& chosen) {
  return &app == &chosen
             ? app.get_name()
             : fmt::format("{} {}", app.get_name(), chosen.get_name());
}

UsageError explain(const CLI::App& app, const CLI::Error& error) {
  const CLI::App& chosen = chosen_in(app);
  const std::string name = full_name(app, chosen);
  const std::vector<std::string> commands = command_names(chosen);
  std::vector<std::string> extra = app.remaining(true);
  std::erase(extra, "--");
  const std::vector<const CLI::Option*> missing = missing_in(chosen);
  // The parser may have treated the value of an unknown option as an argument.
  const auto unknown = std::ranges::find_if(extra, [](const std::string& word) {
    return word.size() > 1 && word.starts_with('-');
  });
  if (unknown != extra.end()) return unknown_option(app, *unknown);
  if (const auto again = given_again(app)) return *again;
  const auto* validation = dynamic_cast<const CLI::ValidationError*>(&error);
  if (validation == nullptr && !extra.empty()) {
    const std::string& word = extra.front();
    if (!commands.empty()) {
      return UsageError("unknown_name", word,
                        fmt::format("{}: unknown command '{}'{}", name, word,
                                    suggest_names(word, commands)));
    }
    return UsageError(
        "unexpected_argument", word,
        fmt::format("{}: unexpected argument '{}'{}", name,
                    fmt::join(extra, "' '"),
                    missing.empty() ? "" : "; missing: " + described(missing)));
  }
  if (dynamic_cast<const CLI::RequiredError*>(&error) == nullptr) {
    return parse_error(error);
  }
  if (!missing.empty()) {
    return UsageError("missing_value", missing.front()->get_name(),
                      fmt::format("{}: missing {}", name, described(missing)));
  }
  if (commands.empty()) return parse_error(error);
  return UsageError("missing_value", "command",
                    fmt::format("{}: missing command (one of {})", name,
                                fmt::join(commands, ", ")));
}

}  // namespace octet::program
