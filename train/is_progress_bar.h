// What fit asks of its progress bar. Internal to train.
#pragma once

#include <memory>

#include <octet/train/callback.h>

namespace octet::train {

/// Whether progress_bar() made it.
bool is_progress_bar(const std::shared_ptr<Callback>& callback);

}  // namespace octet::train
