// A softmax or sigmoid behind another one. Internal to train.
#pragma once

#include <cstddef>
#include <string_view>

#include <octet/layers/model.h>

namespace octet::train {

/// Warns if an output ends in a softmax or sigmoid that follows another one,
/// naming both layers.
void warn_of_second_activation(std::string_view subject, const Model& model,
                               size_t output);

}  // namespace octet::train
