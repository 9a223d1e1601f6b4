#include "command.h"

#include <array>
#include <cstdio>
#include <stdexcept>

#include <sys/wait.h>

namespace octet {
namespace {

CommandResult run_oracle(const std::string& python, const std::string& script,
                         const std::filesystem::path& argument) {
  const std::filesystem::path folder = OCTET_SOURCE_DIR "/tests/oracle";
  return run_command(quoted(folder / python) + " " + script + " " +
                     quoted(argument));
}

}  // namespace

CommandResult run_command(const std::string& command) {
  FILE* pipe = ::popen((command + " 2>&1").c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("popen failed");
  CommandResult result;
  std::array<char, 4096> block{};
  while (const size_t got = std::fread(block.data(), 1, block.size(), pipe)) {
    result.output.append(block.data(), got);
  }
  const int status = ::pclose(pipe);
  result.exit_code =
      WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

std::string quoted(const std::filesystem::path& word) {
  std::string text = "'";
  for (const char c : word.string()) {
    if (c == '\'') {
      text += "'\\''";
    } else {
      text += c;
    }
  }
  return text + "'";
}

CommandResult run_venv_script(const std::string& script,
                              const std::filesystem::path& argument) {
  return run_oracle("venv_python.sh", script, argument);
}

CommandResult run_h5py_script(const std::string& script,
                              const std::filesystem::path& argument) {
  return run_oracle("h5py_python.sh", script, argument);
}

}  // namespace octet
