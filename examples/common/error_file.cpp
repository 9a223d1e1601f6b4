#include "error_file.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <system_error>

#include <fmt/format.h>

#include <octet/io/json.h>
#include <octet/runtime/file.h>

namespace octet::program {
namespace {

namespace fs = std::filesystem;

constexpr const char* kVariable = "OCTET_ERROR_FILE";

bool is_device(const fs::path& path) {
  return path.string().starts_with("/dev/");  // /dev/stdout may be a pipe
}

/// Returns the file that OCTET_ERROR_FILE names, links resolved; "" if it is
/// not set.
fs::path error_file() {
  const char* name = std::getenv(kVariable);
  if (name == nullptr || *name == '\0') return {};
  fs::path path(name);
  if (is_device(path)) return path;
  std::error_code failed;
  fs::path target = fs::weakly_canonical(path, failed);
  return failed ? path : target;
}

/// Whether the file was written by write_error_file(), or is empty.
bool is_error_file(const fs::path& path) {
  std::ifstream file(path);
  std::string text(size_t{1} << 16, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(file.gcount()));
  return text.empty() || (text.starts_with('{') &&
                          text.find("\"exit_code\"") != std::string::npos);
}

/// Whether an error may be written to the path: nothing exists there, or a file
/// of an earlier run, or a device such as /dev/stdout.
bool is_writable(const fs::path& path) {
  if (is_device(path)) return true;
  std::error_code failed;
  const fs::file_status status = fs::status(path, failed);
  switch (status.type()) {
    case fs::file_type::regular:
      return is_error_file(path);
    case fs::file_type::fifo:
    case fs::file_type::socket:
      return false;
    default:
      return true;
  }
}

}  // namespace

std::string kind_name(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::shape:
      return "ShapeError";
    case ErrorKind::value:
      return "ValueError";
    case ErrorKind::not_found:
      return "NotFoundError";
    case ErrorKind::unsupported:
      return "UnsupportedError";
    case ErrorKind::format:
      return "FormatError";
    case ErrorKind::io:
      return "IoError";
    case ErrorKind::interrupted:
      return "InterruptedError";
    case ErrorKind::internal:
      break;
  }
  return "InternalError";
}

void write_error_file(const ProgramError& error) {
  const fs::path path = error_file();
  if (path.empty()) return;
  if (!is_writable(path)) {
    return warn("cannot_write", kVariable,
                fmt::format("'{}' is not the error file of an earlier run and "
                            "was not replaced",
                            path.string()));
  }
  Config fields;
  fields.set("kind", error.kind);
  fields.set("code", error.code);
  fields.set("subject", error.subject);
  fields.set("message", error.message);
  fields.set("exit_code", error.exit_code);
  try {
    write_file(path, io::to_json(fields) + "\n");
  } catch (const Error& problem) {
    warn("cannot_write", kVariable, problem.message());
  }
}

void remove_error_file() {
  const fs::path path = error_file();
  std::error_code failed;
  if (path.empty() || !fs::is_regular_file(path, failed) ||
      !is_error_file(path)) {
    return;
  }
  if (!fs::remove(path, failed) && failed) {
    warn("cannot_write", kVariable,
         fmt::format("cannot remove '{}' of an earlier run: {}", path.string(),
                     failed.message()));
  }
}

}  // namespace octet::program
