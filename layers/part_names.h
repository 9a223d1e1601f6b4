// Names of the layers that a function makes of one name.
#pragma once

#include <string>

#include <fmt/format.h>

namespace octet {

/// "block/query"; empty, so that the model finds a name, if `whole` is.
inline std::string part_name(const std::string& whole, const char* part) {
  return whole.empty() ? "" : fmt::format("{}/{}", whole, part);
}

}  // namespace octet
