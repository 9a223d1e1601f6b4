// The subcommands of the octet program. Each adds itself with its options and
// runs when it was chosen.
#pragma once

#include <CLI/CLI.hpp>

namespace octet::program {

void add_bench(CLI::App& app);
void add_convert(CLI::App& app);
void add_inspect(CLI::App& app);
void add_plan(CLI::App& app);
void add_predict(CLI::App& app);

}  // namespace octet::program
