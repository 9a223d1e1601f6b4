// Names of the layers that a function makes of one name, and its own.
#pragma once

#include <string>

#include <fmt/format.h>

namespace octet {

/// "block/query"; empty, so that the model finds a name, if `whole` is.
inline std::string part_name(const std::string& whole, const char* part) {
  return whole.empty() ? "" : fmt::format("{}/{}", whole, part);
}

/// "in transformer_block 'block'", for messages.
inline std::string frame_of(const char* function, const std::string& name) {
  return name.empty() ? fmt::format("in {}", function)
                      : fmt::format("in {} '{}'", function, name);
}

}  // namespace octet
