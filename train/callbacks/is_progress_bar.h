// Detection of progress bars among callbacks. Internal to train.
#pragma once

#include <memory>

#include <octet/train/callback.h>

namespace octet::train {

/// Whether the callback is a progress_bar().
bool is_progress_bar(const std::shared_ptr<Callback>& callback);

}  // namespace octet::train
