// Explanations of wrong usage of a command line, instead of CLI11's. Internal
// to the programs.
#pragma once

#include <string>

#include "command_line.h"

namespace CLI {
class Error;
}  // namespace CLI

namespace octet::program {

/// Returns the name of the chosen command with the program's: "octet train".
std::string full_name(const CLI::App& app, const CLI::App& chosen);

/// Explains why `app` could not parse its arguments: names the unknown word
/// with similar names, or the missing options.
UsageError explain(const CLI::App& app, const CLI::Error& error);

}  // namespace octet::program
