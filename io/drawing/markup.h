// Text of models and data in SVG and HTML. Internal to io.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace octet::io {

/// Escapes text for element content and quoted attributes: printable, with & <
/// > " ' escaped.
std::string markup_text(std::string_view text);

/// Shortens text to at most `characters`, with an ellipsis at the end.
std::string cut_text(std::string_view text, size_t characters);

/// Counts UTF-8 characters.
size_t count_characters(std::string_view text);

}  // namespace octet::io
