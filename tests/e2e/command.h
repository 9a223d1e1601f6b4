// Runs a program as a user would and keeps what it said.
#pragma once

#include <filesystem>
#include <string>

#include "../temp_folder.h"

namespace octet {

struct CommandResult {
  int exit_code = 0;   // 128 + the signal, if one ended it
  std::string output;  // of both streams
};

/// Through the shell, so that `command` may redirect and limit.
CommandResult run_command(const std::string& command);

/// A path or word as the shell takes it, whatever it contains.
std::string quoted(const std::filesystem::path& word);

/// Runs a script of tests/oracle with the Python of build/venv, or with the one
/// that has h5py. Exit code 77: there is none.
CommandResult run_venv_script(const std::string& script,
                              const std::filesystem::path& argument);
CommandResult run_h5py_script(const std::string& script,
                              const std::filesystem::path& argument);

}  // namespace octet
