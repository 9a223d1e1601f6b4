// Output of `octet inspect zoo:`.
#pragma once

#include <string>

namespace octet::program {

/// Returns the zoo networks with their sizes, as a table or JSON.
std::string list_zoo(bool json);

}  // namespace octet::program
