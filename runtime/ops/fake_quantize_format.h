#pragma once

#include <octet/runtime/ops.h>

#include "weights.h"

namespace octet {

/// fake_quantize() for floating-point formats, block scales and trainable
/// offsets, with checked parameters. An empty `learned.scale` is not trainable.
Variable fake_quantize_format(const Variable& x, const QuantParams& qparams,
                              StraightThrough mode,
                              const LearnedScale& learned);

}  // namespace octet
