// Warning about a doubled softmax or sigmoid. Internal to train.
#pragma once

#include <cstddef>
#include <string_view>

#include <octet/layers/model.h>

namespace octet::train {

/// Warns, naming both layers, if the output's softmax or sigmoid follows
/// another softmax or sigmoid.
void warn_of_second_activation(std::string_view subject, const Model& model,
                               size_t output);

}  // namespace octet::train
