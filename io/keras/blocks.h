// Keras layers that become several Octet layers: EinsumDense,
// Conv1DTranspose, Attention, adaptive pooling and TimeDistributed. Internal to
// io/keras.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "keras/builder.h"

namespace octet::io {

/// Returns the builder of a class, or null for classes of a single layer.
using BlockBuilder = std::unique_ptr<LayerBuilder> (*)(const KerasLayer&,
                                                       std::string name,
                                                       BuildState&);
BlockBuilder find_block(std::string_view class_name);

/// Returns the entry of an option for an axis: of a list, or a number for all
/// axes. Throws: FormatError for a list that is too short.
const Config& entry_of(const Config& value, size_t axis, const char* key);

std::unique_ptr<LayerBuilder> time_distributed_builder(const KerasLayer& layer,
                                                       std::string name,
                                                       BuildState& state);

}  // namespace octet::io
