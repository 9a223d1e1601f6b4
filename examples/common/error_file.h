// Errors of the programs as JSON, for scripts: OCTET_ERROR_FILE. Internal to
// the programs.
#pragma once

#include <string>

#include <octet/runtime/error.h>

namespace octet::program {

/// An error that ends a program.
struct ProgramError {
  std::string kind;  ///< "ShapeError", "UsageError", ...
  std::string code;
  std::string subject;
  std::string message;  ///< as printed on standard error
  int exit_code = 1;
};

/// Returns the name of the exception type: "ShapeError".
std::string kind_name(ErrorKind kind);

/// Replaces the file that the environment variable OCTET_ERROR_FILE names, if
/// it is set. Only files of earlier runs are replaced; other files and pipes
/// stay unchanged. Logs a warning if the file was not written.
void write_error_file(const ProgramError& error);

/// Removes the file of an earlier run. Logs a warning if that fails.
void remove_error_file();

}  // namespace octet::program
