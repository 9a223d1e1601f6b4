// Runs a program as a user would and keeps what it said.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

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

/// A folder of the test's own, removed at the end.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path operator/(std::string_view name) const {
    return path_ / name;
  }

 private:
  std::filesystem::path path_;
};

}  // namespace octet
