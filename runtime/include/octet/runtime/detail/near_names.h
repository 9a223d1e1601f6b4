// Suggestions for "not found" messages.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <octet/runtime/detail/language.h>

namespace octet {

/// Number of single-character insertions, deletions and replacements between
/// two words (Levenshtein).
int edit_distance(std::string_view a, std::string_view b);

/// Normalizes a name for comparison: lower case, without spaces, hyphens and
/// underscores.
std::string fold_name(std::string_view name);

/// Returns "; did you mean 'conv1' or 'conv2'?", or, if no name is similar, the
/// first few names: "; available: 'a', 'b', ... (12 in all)".
std::string suggest_names(std::string_view wanted,
                          std::span<const std::string> names);

/// Returns only "; did you mean 'conv1'?" or nothing, for messages that already
/// list the names.
std::string suggest_near(std::string_view wanted,
                         std::span<const std::string> names);

}  // namespace octet
