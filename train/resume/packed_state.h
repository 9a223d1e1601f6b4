// Serializes a TrainingState, to send it to ranks that do not read files.
// Internal to train.
#pragma once

#include <string>
#include <string_view>

#include <octet/train/fit.h>

namespace octet::train {

std::string pack(const TrainingState& state);
/// Inverse of pack(). REQUIRES: a machine of the same byte order.
TrainingState unpack(std::string_view bytes);

}  // namespace octet::train
