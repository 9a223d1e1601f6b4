// `completion SHELL`: completion scripts from the descriptions of commands and
// options.
#pragma once

#include <string>

namespace CLI {
class App;
}

namespace octet::program {

inline constexpr const char* kCompletionHelp = R"(
Examples:
  octet completion bash > ~/.local/share/bash-completion/completions/octet
  octet completion zsh > ~/.zfunc/_octet     (with fpath+=~/.zfunc)
  octet completion fish > ~/.config/fish/completions/octet.fish
)";

/// Returns a script that completes commands, options and their fixed values;
/// other values complete as files.
/// Throws: ValueError for an unknown shell.
std::string completion(const CLI::App& app, const std::string& shell);

}  // namespace octet::program
