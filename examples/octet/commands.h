// The subcommands of the octet program. Each adds itself to the program with
// its options and runs when it was chosen. What they print goes through
// print(), which knows about readers that have left.
#pragma once

#include <string_view>

#include <CLI/CLI.hpp>

namespace octet_program {

void add_inspect(CLI::App& program);

/// Writes to standard output at once. A pipe whose reader has left (as in
/// `octet ... | head`) is no error. Throws: octet::IoError for others.
void print(std::string_view text);

}  // namespace octet_program
