// Binary form of a Config in session files; docs/model-files.md describes it.
// Numbers round-trip bit for bit. Internal to session.
#pragma once

#include <string>
#include <string_view>

#include <octet/runtime/config.h>

namespace octet::session {

/// Maximum nesting of lists and objects: deep enough for any model, shallow
/// enough for recursive destructors.
inline constexpr int kMaxDepth = 100;

/// Appends the bytes of a tree to `to`.
/// Throws: ValueError for nesting beyond kMaxDepth, or for text or a list of
/// more than 2^32 - 1 entries.
void append_config(std::string& to, const Config& value);

/// Parses the bytes of a tree, without bytes after it. Allocates memory in
/// proportion to the bytes.
/// Throws: FormatError.
Config parse_config(std::string_view bytes);

}  // namespace octet::session
