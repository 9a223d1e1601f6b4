// Manual pages (`octet man DIR`), generated from the descriptions of commands
// and options.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace octet::program {

/// Examples in the help of `octet man`.
inline constexpr const char* kManHelp = R"(
Examples:
  octet man ~/.local/share/man/man1
  man octet-train
)";

struct ManPage {
  std::string file;  ///< name, "octet-train.1"
  std::string text;  ///< roff source with the macros of man(7)
};

/// Returns the page of the program, then a page per command.
std::vector<ManPage> man_pages(const CLI::App& app);

}  // namespace octet::program
