#include "shell.h"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/wait.h>

#include <octet/runtime/error.h>

namespace octet::program {

ShellResult run_shell(const std::string& command) {
  std::FILE* const pipe = ::popen(("{ " + command + "\n} 2>&1").c_str(), "r");
  if (pipe == nullptr) {
    throw IoError("cannot_run", "/bin/sh",
                  fmt::format("cannot start: {}", std::strerror(errno)));
  }
  ShellResult result;
  std::array<char, 4096> block{};
  while (const size_t got = std::fread(block.data(), 1, block.size(), pipe)) {
    result.output.append(block.data(), got);
  }
  const int status = ::pclose(pipe);
  result.exit_code =
      WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

std::string shell_word(const std::string& word) {
  const bool plain =
      !word.empty() && word.find_first_not_of(
                           "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUV"
                           "WXYZ0123456789_./:=@%+,-") == std::string::npos;
  if (plain) return word;
  std::string quoted = "'";
  for (const char c : word) quoted += c == '\'' ? "'\\''" : std::string(1, c);
  return quoted + "'";
}

std::string last_lines(const std::string& output, int count) {
  std::vector<std::string> lines;
  size_t begin = 0;
  while (begin < output.size()) {
    size_t end = output.find('\n', begin);
    if (end == std::string::npos) end = output.size();
    std::string line = output.substr(begin, end - begin);
    while (!line.empty() && line.back() <= ' ') line.pop_back();
    if (!line.empty()) lines.push_back(std::move(line));
    begin = end + 1;
  }
  if (std::ssize(lines) > count)
    lines.erase(lines.begin(), lines.end() - count);
  return fmt::format("{}", fmt::join(lines, "; "));
}

}  // namespace octet::program
