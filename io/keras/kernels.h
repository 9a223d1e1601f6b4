// Kernel layouts of older versions and other backends. Internal to
// io/keras.
#pragma once

#include "keras/graph.h"
#include "keras/targets.h"

namespace octet::io {

/// Sets the file's shape of a kernel and its conversion to Octet if they differ
/// from Keras 3.
/// Source: preprocess_weights_for_loading in keras/engine/saving.py of
/// Keras 2.2.
void as_old_kernel(WeightTarget& weight, const KerasLayer& layer,
                   const KerasDialect& dialect);

}  // namespace octet::io
