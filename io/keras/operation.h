// Functions in the place of layers: x + y and the like, which tf.keras writes
// as TFOpLambda and Keras 3 as operations. Internal to io/keras.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "keras/builder.h"

namespace octet::io {

/// Whether it is one of the few that Octet's layers compute.
bool is_known_operation(const KerasLayer& layer);

/// How many outputs a function has, 1 where it is no operation.
int64_t outputs_of(const KerasLayer& layer);

/// Whether a layer that is no known operation by its class is called like one:
/// on a constant.
bool is_called_as_operation(const KerasLayer& layer);

std::unique_ptr<LayerBuilder> operation_builder(const KerasLayer& layer,
                                                std::string name,
                                                BuildState& state);

}  // namespace octet::io
