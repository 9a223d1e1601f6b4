// State file of octet autotune: latencies of an interrupted run.
#pragma once

#include <string>

#include <octet/quant/autotune.h>

namespace octet::program {

/// Reads a state file; an empty state if there is no such file. `settings`
/// describes the machine, the runner and the options that latencies depend on.
/// Throws: FormatError for a file that is no state file; ValueError for one of
/// other settings.
quant::AutotuneState read_latencies(const std::string& path,
                                    const std::string& settings);

/// Writes the state atomically. Throws: IoError.
void write_latencies(const std::string& path, const std::string& settings,
                     const quant::AutotuneState& state);

/// Returns the name of the processor and the instruction set in use.
std::string machine_name();

}  // namespace octet::program
