#include "command.h"

#include <array>
#include <cstdio>
#include <stdexcept>

#include <stdlib.h>
#include <sys/wait.h>

namespace octet {

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

TemporaryFolder::TemporaryFolder() {
  std::string pattern =
      (std::filesystem::temp_directory_path() / "octet-test-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) {
    throw std::runtime_error("mkdtemp failed");
  }
  path_ = pattern;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

}  // namespace octet
