// `completion SHELL`: scripts from the descriptions of commands and options.
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

/// Commands, options and their words; other values complete as files.
/// Throws: ValueError for another shell.
std::string completion(const CLI::App& app, const std::string& shell);

}  // namespace octet::program
