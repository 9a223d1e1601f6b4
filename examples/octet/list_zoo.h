// What `octet inspect zoo:` prints.
#pragma once

#include <string>

namespace octet::program {

/// The networks of the zoo with their sizes.
std::string list_zoo(bool json);

}  // namespace octet::program
