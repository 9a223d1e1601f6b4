// Runs the octet program of the build.
#pragma once

#include <string>

#include "command.h"

namespace octet {

/// Runs octet with these arguments in the shell.
inline CommandResult run_octet(const std::string& arguments) {
  return run_command(quoted(OCTET_BIN "/octet") + " " + arguments);
}

}  // namespace octet
