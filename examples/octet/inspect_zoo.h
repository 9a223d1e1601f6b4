// What `octet inspect zoo:...` prints.
#pragma once

#include <string>
#include <string_view>

namespace octet::program {

/// The layers and sizes of a network of the zoo; a list of the networks if
/// `name` is empty. Throws: NotFoundError for an unknown one.
std::string inspect_zoo(std::string_view name, bool json);

}  // namespace octet::program
