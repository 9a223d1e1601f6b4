#include "command.h"

#include <array>
#include <cstdio>
#include <sstream>
#include <stdexcept>

#include <sys/wait.h>

#include <octet/io/json.h>
#include <octet/runtime/file.h>

namespace octet {
namespace {

/// Returns the error that a program wrote to the file.
Failure read_failure(const std::filesystem::path& path) {
  if (!std::filesystem::exists(path)) return {"no error", ""};
  const Config error = io::from_json(read_file(path));
  Failure failure{error.at("code").as_string(), error.at("subject").as_string(),
                  error.at("message").as_string()};
  log_failure(failure.code, failure.message);
  return failure;
}

CommandResult run_oracle(const std::string& python, const std::string& script,
                         const std::filesystem::path& argument) {
  const std::filesystem::path folder = OCTET_SOURCE_DIR "/tests/oracle";
  return run_command(quoted(folder / python) + " " + script + " " +
                     quoted(argument));
}

}  // namespace

std::vector<std::string> CommandResult::warned() const {
  const std::string start = "warning: ";
  std::vector<std::string> subjects;
  std::istringstream lines(output);
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with(start)) continue;
    line.erase(0, start.size());
    subjects.push_back(line.substr(0, line.find(": ")));
  }
  return subjects;
}

Config CommandResult::json() const {
  size_t begin = 0;
  while (begin < output.size() && output[begin] != '{' &&
         output[begin] != '[') {
    begin = output.find('\n', begin);
    begin += begin < output.size();
  }
  if (begin >= output.size()) throw std::runtime_error("no JSON: " + output);
  const char* closing = output[begin] == '{' ? "\n}" : "\n]";
  const size_t end = output.rfind(closing);
  return io::from_json(std::string_view(output).substr(
      begin, end == std::string::npos ? end : end + 2 - begin));
}

CommandResult run_command(const std::string& command) {
  const TempFolder folder;
  const std::filesystem::path error_file = folder / "error.json";
  const std::string line = "export OCTET_ERROR_FILE=" + quoted(error_file) +
                           "\n" + command + " 2>&1";
  FILE* pipe = ::popen(line.c_str(), "r");
  if (pipe == nullptr) throw std::runtime_error("popen failed");
  CommandResult result;
  std::array<char, 4096> block{};
  while (const size_t got = std::fread(block.data(), 1, block.size(), pipe)) {
    result.output.append(block.data(), got);
  }
  const int status = ::pclose(pipe);
  result.exit_code =
      WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  result.failure = read_failure(error_file);
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
