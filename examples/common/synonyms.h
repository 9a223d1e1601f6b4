// Synonyms of commands and options from other tools: "export" for convert,
// "--lr" for --rate, "help train" for "train --help". They are accepted, but
// not listed in the help.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace octet::program {

/// Returns the command of a name or synonym, null if there is none.
const CLI::App* find_command(const CLI::App& app, std::string_view name);

/// Returns the option of a long name without dashes, or of its synonym; ignores
/// case and underscores. Null if there is none.
const CLI::Option* find_option(const CLI::App& command, std::string_view name);

/// Returns a command line, without the program name, with canonical names of
/// commands and options. Values and unknown words are unchanged; "--option="
/// keeps its empty value.
std::vector<std::string> canonical_words(const CLI::App& app,
                                         const std::vector<std::string>& words);

}  // namespace octet::program
