// What the example programs have in common: output that survives a reader who
// leaves.
#pragma once

#include <string>
#include <string_view>

namespace octet::program {

/// That a file can be written, before the work that makes it.
/// Throws: IoError if its folder is missing or it is a folder itself.
void check_output(const std::string& path);

/// 91.3 for 0.91299999: two digits after the point.
double percent(double share);

/// Writes to a descriptor, standard output unless told otherwise, at once what
/// of the text is printable. A pipe whose reader has left (as in
/// `octet ... | head`) is no error. Throws: IoError for others.
void print(std::string_view text, int descriptor = 1);

}  // namespace octet::program
