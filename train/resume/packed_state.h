// A TrainingState as bytes, for the ranks that read no files themselves.
// Internal to train.
#pragma once

#include <string>
#include <string_view>

#include <octet/train/training_state.h>

namespace octet::train {

std::string pack(const TrainingState& state);
/// REQUIRES: what pack() gave, on a machine of the same byte order.
TrainingState unpack(std::string_view bytes);

}  // namespace octet::train
