// --checkpoint DIR and --resume of the training programs.
#pragma once

#include <memory>
#include <string>

#include <octet/train/fit.h>

#include "command_line.h"

namespace octet::program {

struct CheckpointOptions {
  std::string folder;
  bool resume = false;
};

void add_checkpoint_options(Command& command, CheckpointOptions& options);

/// Returns the checkpoint folder of a training phase, null without
/// --checkpoint.
/// Throws: ValueError if the folder has checkpoints and --resume is not given.
std::shared_ptr<train::Checkpointer> checkpoints_of(
    const CheckpointOptions& options, const std::string& phase);

}  // namespace octet::program
