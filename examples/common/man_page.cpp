#include "man_page.h"

#include <sstream>
#include <string_view>

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <octet/runtime/system.h>

namespace octet::program {
namespace {

/// Escapes text for roff. A point or quote at the start of a line would be a
/// request.
std::string roff(std::string_view text) {
  std::string result;
  bool begins = true;
  for (const char c : text) {
    if (begins && (c == '.' || c == '\'')) result += "\\&";
    begins = c == '\n';
    if (c == '\\') {
      result += "\\e";
    } else if (c == '-') {
      result += "\\-";
    } else {
      result += c;
    }
  }
  return result;
}

std::string bold(std::string_view text) { return "\\fB" + roff(text) + "\\fR"; }
std::string italic(std::string_view text) {
  return "\\fI" + roff(text) + "\\fR";
}

std::string upper(std::string text) {
  for (char& c : text) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return text;
}

std::string heading(const std::string& text) {
  return fmt::format(".SH {}\n", roff(upper(text)));
}

/// Returns the entry of an option or argument: its names, its description, and
/// its relations to other options.
std::string entry(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames()) {
    names.push_back(bold("-" + name));
  }
  for (const std::string& name : option.get_lnames()) {
    names.push_back(bold("--" + name));
  }
  const bool argument = names.empty();
  std::string text = ".TP\n";
  text += argument ? italic(option.get_name())
                   : fmt::format("{}", fmt::join(names, ", "));
  if (!argument && option.get_items_expected_max() > 0) {
    text += " " + italic(option.get_type_name());
  }
  text += "\n" + roff(option.get_description());
  const auto others = [&](const char* what,
                          const std::set<CLI::Option*>& options) {
    std::vector<std::string> listed;
    for (const CLI::Option* other : options) {
      listed.push_back(bold(other->get_name()));
    }
    std::ranges::sort(listed);
    if (listed.empty()) return;
    text += fmt::format("\n.br\n{} {}.", what, fmt::join(listed, ", "));
  };
  if (!option.get_default_str().empty()) {
    text += fmt::format("\n.br\nDefault: {}.", roff(option.get_default_str()));
  }
  if (option.get_required() && !argument) text += "\n.br\nRequired.";
  others("Needs", option.get_needs());
  others("Not with", option.get_excludes());
  return text + "\n";
}

/// Returns the arguments of a command under a heading; "" if there are none.
std::string arguments_of(const CLI::App& command) {
  std::string text;
  for (const CLI::Option* option : command.get_options()) {
    if (!option->nonpositional()) text += entry(*option);
  }
  return text.empty() ? text : heading("Arguments") + text;
}

/// Returns the options of a command under a heading, each group below its own.
std::string options_of(const CLI::App& command) {
  std::string text = heading("Options");
  for (const std::string& group : command.get_groups()) {
    std::string entries;
    for (const CLI::Option* option : command.get_options()) {
      if (option->nonpositional() && option->get_group() == group) {
        entries += entry(*option);
      }
    }
    if (entries.empty()) continue;
    if (group != "Options") text += fmt::format(".SS {}\n", roff(group));
    text += entries;
  }
  return text;
}

/// Converts a footer: an unindented line that ends in a colon becomes a
/// heading, indented lines stay as they are, other lines become paragraphs. The
/// first paragraph gets the heading "Notes".
std::string sections_of(const std::string& footer) {
  std::istringstream lines(footer);
  std::string text;
  bool indented = false;
  const auto indent = [&](bool now) {
    if (now != indented) text += now ? ".nf\n" : ".fi\n";
    indented = now;
  };
  for (std::string line; std::getline(lines, line);) {
    if (line.empty()) continue;
    const bool inside = line.starts_with("  ");
    indent(inside);
    if (inside) {
      text += roff(std::string_view(line).substr(2)) + "\n";
    } else if (line.ends_with(':')) {
      text += heading(line.substr(0, line.size() - 1));
    } else {
      if (text.empty()) text += heading("Notes");
      text += roff(line) + "\n";
    }
  }
  indent(false);
  return text;
}

std::string title_of(const CLI::App& app, const CLI::App* command) {
  return command == nullptr
             ? app.get_name()
             : fmt::format("{}-{}", app.get_name(), command->get_name());
}

/// "octet train [OPTIONS] model"
std::string synopsis(const CLI::App& app, const CLI::App* command) {
  if (command == nullptr) {
    return fmt::format("{} {} [{}]\n", bold(app.get_name()), italic("command"),
                       italic("options"));
  }
  std::string text =
      fmt::format("{} [{}]", bold(app.get_name() + " " + command->get_name()),
                  italic("options"));
  for (const CLI::Option* option : command->get_options()) {
    if (!option->get_positional()) continue;
    const std::string name = italic(option->get_name(true));
    const bool alone = option->get_required() && !option->nonpositional();
    text += alone ? " " + name : fmt::format(" [{}]", name);
  }
  return text + "\n";
}

std::string commands_of(const CLI::App& app) {
  std::string text;
  for (const CLI::App* command : app.get_subcommands({})) {
    text += fmt::format(".TP\n{}(1)\n{}\n", bold(title_of(app, command)),
                        roff(command->get_description()));
  }
  return text.empty() ? text : heading("Commands") + text;
}

constexpr std::string_view kEnding =
    ".SH EXIT STATUS\n"
    "0: success. 1: an error, printed on standard error, or a failed check. "
    "2: wrong usage.\n"
    ".SH ENVIRONMENT\n"
    "OCTET_ERROR_FILE: an error is also written to this file, as JSON with "
    "kind, code, subject, message and exit_code. The file is removed at the "
    "start.\n.br\n"
    "OCTET_TRACE: list, separated by commas, of what is traced to standard "
    "error: ops (ops, gradients and program steps with layer, shape and "
    "duration), alloc (buffers of tensors), import (nodes and layers of "
    "imported files), passes (passes over ONNX graphs), program (programs of "
    "inference sessions after each pass of their compilation).\n.br\n"
    "OCTET_TRACE_FILE: ops, alloc and import are written to this file instead, "
    "as Chrome trace JSON, which ui.perfetto.dev opens.\n.br\n"
    "OCTET_CHECK_NAN=1: the first op whose result contains NaN or infinity is "
    "an error that names the op and its layer.\n";

ManPage page_of(const CLI::App& app, const CLI::App* command) {
  const CLI::App& shown = command == nullptr ? app : *command;
  const std::string title = title_of(app, command);
  std::string text = fmt::format(
      ".TH {} 1 \"\" \"{} {}\" \"User Commands\"\n.SH NAME\n{} \\- {}\n"
      ".SH SYNOPSIS\n{}",
      roff(upper(title)), app.get_name(), version(), roff(title),
      roff(shown.get_description()), synopsis(app, command));
  text += arguments_of(shown);
  if (command == nullptr) text += commands_of(app);
  text += options_of(shown);
  text += sections_of(shown.get_footer());
  text += kEnding;
  if (command != nullptr) {
    text += fmt::format(".SH SEE ALSO\n{}(1)\n", bold(app.get_name()));
  }
  return {title + ".1", text};
}

}  // namespace

std::vector<ManPage> man_pages(const CLI::App& app) {
  std::vector<ManPage> pages{page_of(app, nullptr)};
  for (const CLI::App* command : app.get_subcommands({})) {
    pages.push_back(page_of(app, command));
  }
  return pages;
}

}  // namespace octet::program
