// Text from files, for messages and tables. Internal to io.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace octet::io {

/// A name from a file made fit for a message or a table: control characters
/// become '?' and long text is cut.
std::string printable(std::string_view text, size_t longest = 200);

}  // namespace octet::io
