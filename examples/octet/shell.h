// Other programs, run by the shell.
#pragma once

#include <string>

namespace octet::program {

/// Output and exit code of a command.
struct ShellResult {
  int exit_code = 0;   ///< 128 + signal if killed; 127: not found
  std::string output;  ///< standard output and standard error
};

/// Runs a command line in /bin/sh. Throws: IoError if no shell starts.
ShellResult run_shell(const std::string& command);

/// Returns a word for the shell, quoted if necessary.
std::string shell_word(const std::string& word);

/// Returns the last lines of a program's output, joined by "; ".
std::string last_lines(const std::string& output, int count = 3);

}  // namespace octet::program
