// --checkpoint DIR and --resume, as the training programs take them.
#pragma once

#include <memory>
#include <string>

#include <octet/train/checkpointer.h>

#include "command_line.h"

namespace octet::program {

struct CheckpointOptions {
  std::string folder;
  bool resume = false;
};

void add_checkpoint_options(Command& command, CheckpointOptions& options);

/// Where the states of one phase of the program are kept; null without
/// --checkpoint.
/// Throws: ValueError, before anything is trained, where there are states of
/// an earlier run and no --resume.
std::shared_ptr<train::Checkpointer> checkpoints_of(
    const CheckpointOptions& options, const std::string& phase);

}  // namespace octet::program
