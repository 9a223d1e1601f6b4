// What is wrong with a command line, in the words of all other errors.
#pragma once

#include <string>

#include <CLI/CLI.hpp>

namespace octet::program {

/// Why `app` did not take its arguments: the word that it does not know with
/// those that are near, or what it expected and did not get.
/// REQUIRES: app.parse() threw `error`.
std::string explain_usage(const CLI::App& app, const CLI::Error& error);

}  // namespace octet::program
