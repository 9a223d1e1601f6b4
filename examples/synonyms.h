// Words that users of other tools type by habit, as this program calls them:
// "export" for convert, "--lr" for --rate, "help train" for "train --help".
// They work and are hidden from the help.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace octet::program {

/// The command of that name, or the one that the name is a synonym of; null if
/// there is neither.
const CLI::App* find_command(const CLI::App& app, std::string_view name);

/// The option of a long name without dashes, or the one that the name is a
/// synonym of; case and underscores do not matter. Null if there is neither.
const CLI::Option* find_option(const CLI::App& command, std::string_view name);

/// A command line, without the program's name, in the names of `app`. Values
/// stay as they are; "--option=" keeps its empty value. Words that are unknown
/// stay, too.
std::vector<std::string> canonical_words(const CLI::App& app,
                                         const std::vector<std::string>& words);

}  // namespace octet::program
