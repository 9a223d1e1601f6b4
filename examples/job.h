// `run JOB.toml`: commands and their options from a file.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace octet::program {

inline constexpr const char* kJobHelp = R"(
A section is a command, its keys are the arguments and options, without dashes
in front. A value is never taken for an option. Flags are true, what may be given several times is a list. A command
that comes several times has two brackets, [[evaluate]]. The first command that
fails ends the job. Example:

  [train]
  model = "zoo:resnet8"
  data = "photos"
  epochs = 20
  output = "model.h5"

  [evaluate]
  model = "model.h5"
  data = "photos"
)";

/// The words of the command line for each section, in the order of the file.
/// Throws: IoError; FormatError for what is no TOML, or nothing in it;
/// UsageError for sections that are no commands, keys outside of them or that
/// the command does not have, and values of another type.
std::vector<std::vector<std::string>> job_commands(const CLI::App& app,
                                                   const std::string& path);

}  // namespace octet::program
