// What the example programs have in common: exit codes, whole numbers on the
// command line, output that survives a reader who leaves.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include <CLI/CLI.hpp>

namespace octet::program {

/// Parses the command line and runs `body`. Returns the exit code: 0 done (or
/// help was asked for), 1 an error, told on standard error, 2 wrong usage.
int run(CLI::App& app, int argc, char** argv,
        const std::function<void()>& body);

/// An option that takes a decimal number in [least, most].
CLI::Option* add_number(CLI::App& app, const char* name, int64_t& value,
                        int64_t least, int64_t most, const char* help);

/// That a file can be written, before the work that makes it.
/// Throws: IoError if its folder is missing or it is a folder itself.
void check_output(const std::string& path);

/// 91.3 for 0.91299999: two digits behind the point.
double percent(double share);

/// Writes to a descriptor, standard output unless told otherwise, at once what
/// of the text is printable. A pipe whose reader has left (as in
/// `octet ... | head`) is no error. Throws: IoError for others.
void print(std::string_view text, int descriptor = 1);

}  // namespace octet::program
