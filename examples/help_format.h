// The layout of --help: groups of options, wrapped at the terminal's width.
// Internal to the programs.
#pragma once

#include <memory>

namespace CLI {
class FormatterBase;
}  // namespace CLI

namespace octet::program {

/// Wraps at the width of the terminal that standard output is (COLUMNS
/// overrides it), at least 40 and at most 100 columns; 80 for pipes and files.
std::shared_ptr<CLI::FormatterBase> help_formatter();

}  // namespace octet::program
