// The library's messages in the words of the command line: options instead of
// C++ calls. A message of the library names the call that helps a program;
// hints.cpp has a table of such phrases and of what a user of the command line
// does instead. A hint that names a call and is in no row is left out.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace octet::program {

struct HintWords {
  std::string_view library;       ///< as it is in the library's sources
  std::string_view command_line;  ///< may be empty
};

/// The table, for the test that each phrase is still in the library.
std::span<const HintWords> hint_table();

/// A message of the library as the command line shows it.
std::string on_command_line(std::string text);

}  // namespace octet::program
