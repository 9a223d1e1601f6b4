// Kernels as older versions and other backends stored them. Internal to
// io/keras.
#pragma once

#include "keras/graph.h"
#include "keras/targets.h"

namespace octet::io {

/// Changes the shape and the way to Octet of a kernel that the file has in
/// another form than Keras 3.
/// Source: preprocess_weights_for_loading in keras/engine/saving.py of
/// Keras 2.2.
void as_old_kernel(WeightTarget& weight, const KerasLayer& layer,
                   const KerasDialect& dialect);

}  // namespace octet::io
