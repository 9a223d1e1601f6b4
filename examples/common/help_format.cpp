#include "help_format.h"

#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <string>
#include <string_view>

#include <CLI/CLI.hpp>
#include <sys/ioctl.h>
#include <unistd.h>

namespace octet::program {
namespace {

size_t terminal_width() {
  int columns = 80;
  winsize size{};
  if (const char* setting = std::getenv("COLUMNS")) {
    columns = std::atoi(setting);
  } else if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 &&
             size.ws_col > 0) {
    columns = size.ws_col;
  }
  return static_cast<size_t>(std::clamp(columns, 40, 100));
}

/// Breaks `text` at spaces into lines of at most `width` bytes. Lines after the
/// first are indented by `indent` spaces. Longer words stay whole.
std::string wrap(std::string_view text, size_t width, size_t indent) {
  const size_t room = width > indent + 20 ? width - indent : 20;
  std::string result;
  size_t column = 0;
  while (!text.empty()) {
    const size_t begin = text.find_first_not_of(' ');
    if (begin == std::string_view::npos) break;
    text.remove_prefix(begin);
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(word.size());
    if (column > 0 && column + 1 + word.size() > room) {
      result += '\n' + std::string(indent, ' ');
      column = 0;
    }
    if (column > 0) {
      result += ' ';
      ++column;
    }
    result += word;
    column += word.size();
  }
  return result;
}

/// Wraps the paragraphs of a footer at `width`, and its definitions, which are
/// lines "  term  text" with continuation lines. Copies the lines below a
/// heading "Example...:" verbatim.
std::string wrap_footer(const std::string& footer, size_t width) {
  std::string result, head, text;
  const auto flush = [&] {
    if (!text.empty()) result += head + wrap(text, width, head.size()) + '\n';
    text.clear();
  };
  const auto begin = [&](std::string_view line, size_t column) {
    flush();
    head = line.substr(0, column);
    text = line.substr(column);
  };
  bool verbatim = false;
  std::istringstream lines(footer);
  for (std::string line; std::getline(lines, line);) {
    const size_t first = std::min(line.find_first_not_of(' '), line.size());
    const bool heading = first == 0 && line.ends_with(':');
    if (heading) verbatim = line.starts_with("Example");
    if (line.empty() || heading || (verbatim && first > 0)) {
      flush();
      if (!line.empty() || !result.empty()) result += line + '\n';
      continue;
    }
    const size_t gap = first == 2 ? line.find("  ", first) : line.npos;
    if (gap != line.npos) {
      begin(line, std::min(line.find_first_not_of(' ', gap), line.size()));
    } else if (!text.empty() && (first > 2 || first == head.size())) {
      text += ' ' + line.substr(first);
    } else {
      begin(line, first);
    }
  }
  flush();
  while (result.ends_with("\n\n")) result.pop_back();
  return result;
}

class HelpFormatter final : public CLI::Formatter {
 public:
  HelpFormatter() {
    label("Positionals", "Arguments");
    label("SUBCOMMAND", "COMMAND");
  }

 private:
  static constexpr size_t kColumn = 26;  // first column of descriptions

  static std::string entry(const std::string& name,
                           const std::string& description) {
    std::string text = "  " + name;
    if (description.empty()) return text + '\n';
    if (text.size() + 2 > kColumn) {
      text += '\n' + std::string(kColumn, ' ');
    } else {
      text.resize(kColumn, ' ');
    }
    return text + wrap(description, terminal_width(), kColumn) + '\n';
  }

  std::string make_option(const CLI::Option* option,
                          bool is_positional) const override {
    std::string name = make_option_name(option, is_positional);
    for (size_t at = 0; (at = name.find(',', at)) != std::string::npos;) {
      name.replace(at, 1, ", ");
      at += 2;
    }
    if (!is_positional && !option->get_type_name().empty() &&
        option->get_items_expected_max() > 0) {
      name += ' ' + option->get_type_name();
    }
    std::string description = make_option_desc(option);
    if (!option->get_default_str().empty()) {
      description += " (default: " + option->get_default_str() + ")";
    }
    if (option->get_required() && !is_positional) {
      description += " (required)";
    }
    if (!is_positional && option->get_expected_max() > 1) {
      description += " (repeatable)";
    }
    return entry(name, description);
  }

  std::string make_subcommand(const CLI::App* command) const override {
    return entry(command->get_name(), command->get_description());
  }

  // Replaces CLI11's make_groups(), which separates groups by two empty lines.
  std::string make_groups(const CLI::App* app, CLI::AppFormatMode mode) const {
    // Input comes first. Rarely used groups come last, then options without a
    // group, such as --help.
    std::vector<std::string> groups = app->get_groups();
    std::ranges::stable_partition(
        groups, [](const std::string& group) { return group == "Input"; });
    for (const char* last : {"Model", "Limits", "Options"}) {
      std::ranges::stable_partition(
          groups, [&](const std::string& group) { return group != last; });
    }
    std::string text;
    for (const std::string& group : groups) {
      const std::vector<const CLI::Option*> options =
          app->get_options([&](const CLI::Option* option) {
            return option->get_group() == group && option->nonpositional() &&
                   (mode != CLI::AppFormatMode::Sub ||
                    app->get_help_ptr() != option);
          });
      if (!group.empty() && !options.empty()) {
        text += make_group(group, false, options);
      }
    }
    return text;
  }

  std::string make_help(const CLI::App* app, std::string name,
                        CLI::AppFormatMode mode) const override {
    return wrap(app->get_description(), terminal_width(), 0) + "\n\n" +
           make_usage(app, name) + make_positionals(app) +
           make_groups(app, mode) + make_subcommands(app, mode) + '\n' +
           wrap_footer(app->get_footer(), terminal_width());
  }
};

}  // namespace

std::shared_ptr<CLI::FormatterBase> help_formatter() {
  return std::make_shared<HelpFormatter>();
}

}  // namespace octet::program
