// Keras' recurrent layers and Bidirectional. Internal to io/keras.
#pragma once

#include <string_view>

#include "keras/layer_sequence.h"

namespace octet::io {

/// Whether the class is LSTM, GRU or SimpleRNN.
bool is_recurrent(std::string_view class_name);

/// Returns the number of states that the layer returns besides its output.
int64_t states_of(const KerasLayer& layer);

/// Sets the functions of the cell by Octet's names in a modern_config().
/// Throws: UnsupportedError for other functions.
void convert_cell_functions(const KerasLayer& layer,
                            const KerasContext& context, Config& config);

}  // namespace octet::io
