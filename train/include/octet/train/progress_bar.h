#pragma once

#include <memory>
#include <string>

#include <octet/train/fit.h>

namespace octet::train {

/// Shows epoch, loss, accuracy, images/s and time left: a bar that redraws
/// itself where standard output is a terminal, else one line per epoch.
/// `label` starts each line. Errors of standard output are ignored.
std::shared_ptr<Callback> progress_bar(std::string label = "");

}  // namespace octet::train
