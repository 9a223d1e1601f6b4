#include "checkpoint_options.h"

#include <filesystem>

#include <fmt/format.h>

#include <octet/io/model_file.h>
#include <octet/runtime/error.h>

namespace octet::program {

void add_checkpoint_options(Command& command, CheckpointOptions& options) {
  const Option folder =
      command
          .add("--checkpoint", options.folder, "folder of training checkpoints")
          .type("DIR")
          .check([](const std::string& word) {
            return word.empty() ? "must name a folder, got an empty name" : "";
          })
          .also_writes([&options]() -> std::vector<Output> {
            const std::filesystem::path states(options.folder);
            return {{"--checkpoint", (states / "frozen").string()},
                    {"--checkpoint", (states / "train").string()},
                    {"--checkpoint", (states / "qat").string()}};
          });
  command
      .add_flag(
          "--resume", options.resume,
          "resume from the latest checkpoint in --checkpoint, if there is one")
      .needs(folder);
}

std::shared_ptr<train::Checkpointer> checkpoints_of(
    const CheckpointOptions& options, const std::string& phase) {
  if (options.folder.empty()) return nullptr;
  auto checkpoints = io::checkpoint_folder(
      std::filesystem::path(options.folder) / phase, {.every_steps = 200});
  if (!options.resume && !checkpoints->empty()) {
    throw ValueError(
        "invalid_state", "--checkpoint",
        fmt::format("'{}' has checkpoints of an earlier run. Hint: add "
                    "--resume to continue it, or choose another folder",
                    checkpoints->name()));
  }
  return checkpoints;
}

}  // namespace octet::program
