#include "completion.h"

#include <string_view>
#include <vector>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "../octet/choice.h"

namespace octet::program {
namespace {

/// An option and its fixed values, if any.
struct Completed {
  std::string name;  // "--method"
  std::string help;
  std::vector<std::string> words;
  bool takes_value = false;
};

/// Splits the type of an option, such as "auto|max|mse".
std::vector<std::string> words_of(const std::string& type) {
  std::vector<std::string> words;
  if (type.find('|') == std::string::npos) return words;
  for (size_t at = 0; at <= type.size();) {
    const size_t end = std::min(type.find('|', at), type.size());
    const std::string word = type.substr(at, end - at);
    // SHARE|PATH are placeholders.
    const bool upper = !word.empty() && word[0] >= 'A' && word[0] <= 'Z';
    if (!upper) words.push_back(word);
    at = end + 1;
  }
  return words;
}

std::vector<Completed> options_of(const CLI::App& command) {
  std::vector<Completed> options;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) {
      options.push_back({"--" + name, option->get_description(),
                         words_of(option->get_type_name()),
                         option->get_items_expected_max() > 0});
    }
  }
  return options;
}

/// Returns text in single quotes of a shell.
std::string shell_quoted(std::string_view text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? "'\\''" : std::string(1, c);
  return result + "'";
}

std::string bash(const CLI::App& app) {
  std::vector<std::string> commands;
  std::string options, words;
  for (const CLI::App* command : app.get_subcommands({})) {
    commands.push_back(command->get_name());
    std::vector<std::string> names;
    for (const Completed& option : options_of(*command)) {
      names.push_back(option.name);
      if (option.words.empty()) continue;
      words += fmt::format(
          "    {}:{}) words={} ;;\n", command->get_name(), option.name,
          shell_quoted(fmt::format("{}", fmt::join(option.words, " "))));
    }
    options +=
        fmt::format("    {}) words={} ;;\n", command->get_name(),
                    shell_quoted(fmt::format("{}", fmt::join(names, " "))));
  }
  const std::string& name = app.get_name();
  return fmt::format(
      "# bash completion of {0}\n"
      "_{0}() {{\n"
      "  local current=${{COMP_WORDS[COMP_CWORD]}} words=\n"
      "  local previous=${{COMP_WORDS[COMP_CWORD-1]}}\n"
      "  COMPREPLY=()\n"
      "  if ((COMP_CWORD == 1)); then\n"
      "    COMPREPLY=($(compgen -W {1} -- \"$current\"))\n"
      "    return\n"
      "  fi\n"
      "  case ${{COMP_WORDS[1]}}:$previous in\n{2}"
      "    *) [[ $current == -* ]] && case ${{COMP_WORDS[1]}} in\n{3}"
      "    esac ;;\n"
      "  esac\n"
      "  [[ $words ]] && COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
      "  return 0\n"
      "}}\n"
      "complete -o default -F _{0} {0}\n",
      name,
      shell_quoted(
          fmt::format("{} --help --version", fmt::join(commands, " "))),
      words, options);
}

/// Returns the first line: lists of zsh and fish show one line per entry.
std::string line_of(const std::string& text) {
  std::string line = text.substr(0, text.find('\n'));
  return line;
}

/// Escapes characters that are special in zsh specifications.
std::string zsh_text(const std::string& text) {
  std::string result;
  for (const char c : line_of(text)) {
    if (c == ':' || c == '[' || c == ']' || c == '\\') result += '\\';
    result += c;
  }
  return result;
}

std::string zsh(const CLI::App& app) {
  std::string commands, cases;
  for (const CLI::App* command : app.get_subcommands({})) {
    commands += "    " +
                shell_quoted(command->get_name() + ":" +
                             zsh_text(command->get_description())) +
                "\n";
    std::string arguments;
    for (const Completed& option : options_of(*command)) {
      const std::string values =
          !option.takes_value ? ""
          : option.words.empty()
              ? ":value:_files"
              : fmt::format(":value:({})", fmt::join(option.words, " "));
      arguments +=
          fmt::format(" \\\n        {}",
                      shell_quoted(fmt::format("*{}[{}]{}", option.name,
                                               zsh_text(option.help), values)));
    }
    cases += fmt::format("    {}) _arguments{} '*:file:_files' ;;\n",
                         command->get_name(), arguments);
  }
  return fmt::format(
      "#compdef {0}\n"
      "_{0}() {{\n"
      "  local -a commands=(\n{1}  )\n"
      "  if ((CURRENT == 2)); then\n"
      "    _describe command commands\n"
      "    return\n"
      "  fi\n"
      "  local command=$words[2]\n"
      "  shift words\n"
      "  ((CURRENT--))\n"
      "  case $command in\n{2}  esac\n"
      "}}\n"
      "if [[ $funcstack[1] == _{0} ]]; then _{0} \"$@\"; else compdef _{0} "
      "{0}; "
      "fi\n",
      app.get_name(), commands, cases);
}

/// Returns text quoted for fish: escapes backslashes and quotes.
std::string fish_quoted(const std::string& text) {
  std::string result = "'";
  for (const char c : line_of(text)) {
    if (c == '\'' || c == '\\') result += '\\';
    result += c;
  }
  return result + "'";
}

std::string fish(const CLI::App& app) {
  const std::string& name = app.get_name();
  std::string script = fmt::format("# fish completion of {}\n", name);
  for (const CLI::App* command : app.get_subcommands({})) {
    script += fmt::format(
        "complete -c {} -n __fish_use_subcommand -f -a {} -d {}\n", name,
        command->get_name(), fish_quoted(command->get_description()));
    for (const Completed& option : options_of(*command)) {
      script += fmt::format(
          "complete -c {} -n '__fish_seen_subcommand_from {}' -l {}{} -d {}\n",
          name, command->get_name(), option.name.substr(2),
          !option.takes_value ? ""
          : option.words.empty()
              ? " -r"
              : fmt::format(" -x -a '{}'", fmt::join(option.words, " ")),
          fish_quoted(option.help));
    }
  }
  return script;
}

}  // namespace

std::string completion(const CLI::App& app, const std::string& shell) {
  using Write = std::string (*)(const CLI::App&);
  return choice<Write, 3>(
      "completion", shell,
      {{{"bash", bash}, {"zsh", zsh}, {"fish", fish}}})(app);
}

}  // namespace octet::program
