#include "program.h"

#include <cerrno>
#include <cmath>
#include <cstring>
#include <string>

#include <fmt/format.h>
#include <unistd.h>

#include <octet/runtime/detail/printable.h>
#include <octet/runtime/error.h>
#include <octet/runtime/file.h>

namespace octet::program {

void print(std::string_view words, int descriptor) {
  // Layer names may contain any characters.
  const std::string shown = printable_lines(words);
  std::string_view text = shown;
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      if (errno == EPIPE) return;
      throw IoError(
          "cannot_write",
          descriptor == STDERR_FILENO ? "standard error" : "standard output",
          fmt::format("cannot write: {}", std::strerror(errno)));
    }
    text.remove_prefix(static_cast<size_t>(written));
  }
}

void check_output(const std::string& path) {
  FileSet files;
  files.add(path, "");  // leaves nothing behind without commit()
}

double percent(double share) { return std::round(1e4 * share) / 100; }

}  // namespace octet::program
