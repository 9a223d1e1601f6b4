// Pooling over all pixels of an image or all steps of a sequence. Internal to
// io/onnx/import.
#pragma once

#include "importer.h"

namespace octet::io::importing {

enum class GlobalPool { mean, max };

/// Returns the layer over 1 or 2 axes.
LayerHandle global_pool(GlobalPool operation, int axes, bool keepdims);

/// Converts a node that pools input 0 over its spatial axes.
void pool_globally(Conversion& c, GlobalPool operation, bool keepdims);

}  // namespace octet::io::importing
