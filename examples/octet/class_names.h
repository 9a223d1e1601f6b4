// --class-names: a list, or a file of one of the usual formats.
#pragma once

#include <string>
#include <vector>

namespace octet::program {

/// "cat,dog", or a file: a name a line; JSON as ["cat", "dog"],
/// {"0": "cat", "1": "dog"} or {"cat": 0, "dog": 1}; YOLO's data.yaml.
/// Throws: IoError; FormatError; ValueError for a name that is empty or there
/// twice.
std::vector<std::string> parse_class_names(const std::string& text);

}  // namespace octet::program
