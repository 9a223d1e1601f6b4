// Output functions of the example programs.
#pragma once

#include <string>
#include <string_view>

namespace octet::program {

/// Checks that a file can be written.
/// Throws: IoError if its folder is missing or if it is a folder.
void check_output(const std::string& path);

/// Returns a share in percent, rounded to two decimals: 91.3 for 0.91299999.
double percent(double share);

/// Writes the printable part of `text` to a descriptor (default: standard
/// output), unbuffered. Ignores a closed pipe, as in `octet ... | head`.
/// Throws: IoError for other errors.
void print(std::string_view text, int descriptor = 1);

}  // namespace octet::program
