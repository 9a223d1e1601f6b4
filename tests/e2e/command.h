// Runs a program and captures its output.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <octet/runtime/config.h>

#include "../support.h"
#include "../temp_folder.h"

namespace octet {

struct CommandResult {
  int exit_code = 0;   // 128 + signal if killed by a signal
  std::string output;  // standard output and standard error
  /// Error that ended the last program of Octet: it writes OCTET_ERROR_FILE.
  Failure failure;

  /// Returns the subjects of the warnings: "--data" of "warning: --data: ...".
  std::vector<std::string> warned() const;
  /// Parses the JSON between warnings and the error of a failed check.
  Config json() const;
};

/// Runs a command in the shell, so that it may redirect and limit.
CommandResult run_command(const std::string& command);

/// Returns a path or word quoted for the shell.
std::string quoted(const std::filesystem::path& word);

/// Runs a script of tests/oracle with the Python of build/venv, or with a
/// Python that has h5py. Exit code 77: not available.
CommandResult run_venv_script(const std::string& script,
                              const std::filesystem::path& argument);
CommandResult run_h5py_script(const std::string& script,
                              const std::filesystem::path& argument);

}  // namespace octet
