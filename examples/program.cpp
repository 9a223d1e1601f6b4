#include "program.h"

#include <cerrno>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <string>
#include <system_error>

#include <fmt/format.h>
#include <unistd.h>

#include <octet/runtime/error.h>
#include <octet/runtime/file.h>
#include <octet/runtime/printable.h>

namespace octet::program {

void print(std::string_view words, int descriptor) {
  // Models name their layers as they like.
  const std::string shown = printable_lines(words);
  std::string_view text = shown;
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      if (errno == EPIPE) return;
      throw IoError(fmt::format(
          "{}: cannot write: {}",
          descriptor == STDERR_FILENO ? "standard error" : "standard output",
          std::strerror(errno)));
    }
    text.remove_prefix(static_cast<size_t>(written));
  }
}

void check_output(const std::string& path) {
  FileSet files;
  files.add(path, "");  // without commit() nothing is left behind
}

void check_not_read(const std::string& output,
                    const std::vector<std::string>& read) {
  for (const std::string& path : read) {
    std::error_code ignored;
    if (path.empty() || !std::filesystem::is_regular_file(path, ignored) ||
        !std::filesystem::equivalent(output, path, ignored)) {
      continue;
    }
    throw ValueError(
        fmt::format("--output: expected a file of its own, got '{}', which is "
                    "read",
                    output));
  }
}

double percent(double share) { return std::round(1e4 * share) / 100; }

}  // namespace octet::program
