// Text of models and data within SVG and HTML. Internal to io.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace octet::io {

/// Text between tags or within quotes: printable, with & < > " ' escaped.
std::string markup_text(std::string_view text);

/// At most `characters` of it, the last one an ellipsis where it is cut.
std::string cut_text(std::string_view text, size_t characters);

/// Of UTF-8.
size_t count_characters(std::string_view text);

}  // namespace octet::io
