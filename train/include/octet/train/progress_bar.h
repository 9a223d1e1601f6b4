#pragma once

#include <memory>
#include <string>

#include <octet/train/fit.h>

namespace octet::train {

/// Prints epoch, loss, accuracy, images/s and remaining time: a progress bar if
/// standard output is a terminal, otherwise a line per epoch. Each line begins
/// with `label`. Ignores write errors.
std::shared_ptr<Callback> progress_bar(std::string label = "");

}  // namespace octet::train
