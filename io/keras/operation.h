// Functions used as layers, such as x + y: TFOpLambda in tf.keras, operations
// in Keras 3. Internal to io/keras.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "keras/builder.h"

namespace octet::io {

/// Whether Octet has layers for the operation.
bool is_known_operation(const KerasLayer& layer);

/// Returns the number of outputs, 1 for layers.
int64_t outputs_of(const KerasLayer& layer);

/// Whether a layer is a function, or a merging layer called on a constant.
bool is_built_as_operation(const KerasLayer& layer);

std::unique_ptr<LayerBuilder> operation_builder(const KerasLayer& layer,
                                                const std::string& name,
                                                BuildState& state);

}  // namespace octet::io
