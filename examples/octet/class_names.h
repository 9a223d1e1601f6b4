// Parsing of --class-names.
#pragma once

#include <string>
#include <vector>

namespace octet::program {

/// Returns the names in "cat,dog" or in a file: one name per line; JSON ["cat",
/// "dog"], {"0": "cat", "1": "dog"} or {"cat": 0, "dog": 1}; YOLO data.yaml.
/// Throws: IoError; FormatError; ValueError for an empty or repeated name.
std::vector<std::string> parse_class_names(const std::string& text);

}  // namespace octet::program
