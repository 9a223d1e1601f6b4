// Rewrites max pooling to quantized values.
#pragma once

#include "graph.h"

namespace octet::inference {

/// Pools quantized values if the result is only consumed quantized: rounding is
/// monotonic.
void pool_codes(CapturedGraph& graph);

}  // namespace octet::inference
