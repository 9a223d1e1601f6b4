#include "error_file.h"

#include <cstdlib>
#include <filesystem>
#include <system_error>

#include <octet/io/json.h>
#include <octet/runtime/file.h>

namespace octet::program {
namespace {

/// Returns the value of OCTET_ERROR_FILE, "" if it is not set.
std::filesystem::path error_file() {
  const char* path = std::getenv("OCTET_ERROR_FILE");
  return path == nullptr ? "" : path;
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
  const std::filesystem::path path = error_file();
  if (path.empty()) return;
  Config fields;
  fields.set("kind", error.kind);
  fields.set("code", error.code);
  fields.set("subject", error.subject);
  fields.set("message", error.message);
  fields.set("exit_code", error.exit_code);
  try {
    write_file(path, io::to_json(fields) + "\n");
  } catch (const Error& problem) {
    warn("cannot_write", "OCTET_ERROR_FILE", problem.message());
  }
}

void remove_error_file() {
  // Links and devices, such as /dev/stdout, stay.
  std::error_code ignored;
  const std::filesystem::path path = error_file();
  if (std::filesystem::is_regular_file(
          std::filesystem::symlink_status(path, ignored))) {
    std::filesystem::remove(path, ignored);
  }
}

}  // namespace octet::program
