// Container of session files: header, checksums, a configuration and the bytes
// of weights. docs/model-files.md describes it. Internal to session.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include <octet/runtime/config.h>

namespace octet::session {

/// First bytes of a session file. As in PNG, the first is no text and the last
/// are changed by transfers in text mode.
inline constexpr std::string_view kMagic =
    "\x89"
    "OCTET\r\n";

/// Alignment of weights in the file.
inline constexpr size_t kAlignment = 64;

/// Parts of a file.
struct Container {
  Config configuration;
  std::string_view weights;  ///< refers to the parsed bytes
};

/// Returns the bytes of a file.
/// Throws: ValueError for a configuration that cannot be stored.
std::string container_bytes(const Config& configuration,
                            std::string_view weights);

/// Parses a file.
/// Throws: FormatError for bytes that are no session file, or for a truncated
/// or damaged file; UnsupportedError for a newer version.
Container parse_container(std::string_view bytes);

}  // namespace octet::session
