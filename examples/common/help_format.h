// Layout of --help: groups of options, wrapped at the terminal width. Internal
// to the programs.
#pragma once

#include <memory>

namespace CLI {
class FormatterBase;
}  // namespace CLI

namespace octet::program {

/// Returns a formatter that wraps at COLUMNS, else at the width of the terminal
/// on standard output, within [40, 100]; at 80 for pipes and files.
std::shared_ptr<CLI::FormatterBase> help_formatter();

}  // namespace octet::program
