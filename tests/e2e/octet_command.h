// Runs octet as it was built.
#pragma once

#include <string>

#include "command.h"

namespace octet {

/// With these arguments, through the shell.
inline CommandResult run_octet(const std::string& arguments) {
  return run_command(quoted(OCTET_BIN "/octet") + " " + arguments);
}

}  // namespace octet
