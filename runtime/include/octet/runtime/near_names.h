// Suggestions for "not found" messages.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <octet/runtime/language.h>

namespace octet {

/// Number of single-character insertions, deletions and replacements between
/// two words (Levenshtein).
int edit_distance(std::string_view a, std::string_view b);

/// A name as near names are compared: in lower case, without spaces, hyphens
/// and underscores.
std::string fold_name(std::string_view name);

/// "; did you mean 'conv1' or 'conv2'?", or where nothing is near the first
/// few names there are: "; there are 'a', 'b', ... (12 in all)".
std::string suggest_names(std::string_view wanted,
                          std::span<const std::string> names);

/// The same without the names there are, for messages that have them already:
/// "; did you mean 'conv1'?" or nothing.
std::string suggest_near(std::string_view wanted,
                         std::span<const std::string> names);

}  // namespace octet
