// Names of the layers of a composite, and its error context.
#pragma once

#include <string>

#include <fmt/format.h>

namespace octet {

/// Returns "block/query"; empty if `whole` is, so that the model chooses a
/// name.
inline std::string part_name(const std::string& whole, const char* part) {
  return whole.empty() ? "" : fmt::format("{}/{}", whole, part);
}

/// Returns "in transformer_block 'block'", for error contexts.
inline std::string frame_of(const char* function, const std::string& name) {
  return name.empty() ? fmt::format("in {}", function)
                      : fmt::format("in {} '{}'", function, name);
}

}  // namespace octet
