// `run JOB.toml`: runs the commands of a file.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace octet::program {

inline constexpr const char* kJobHelp = R"(
A section is a command; its keys are arguments and options without dashes.
The value of a flag is true, that of a repeatable option a list. Values are
never parsed as options. Double brackets repeat a command: [[evaluate]]. The job
stops at the first command that fails.

Example:
  [train]
  model = "zoo:resnet8"
  data = "photos"
  epochs = 20
  output = "model.h5"

  [evaluate]
  model = "model.h5"
  data = "photos"
)";

/// Returns the command line of each section, in file order.
/// Throws: IoError; FormatError for invalid TOML or an empty file; UsageError
/// for sections that name no command, keys outside of sections, unknown keys,
/// and values of the wrong type.
std::vector<std::vector<std::string>> job_commands(const CLI::App& app,
                                                   const std::string& path);

}  // namespace octet::program
