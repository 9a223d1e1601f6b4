// Sums and products of tensors.
#pragma once

#include <octet/runtime/variable.h>

namespace octet {

/// x + bias over the last axis. Shapes: x [...,c], bias [c].
Variable bias_add(const Variable& x, const Variable& bias);

/// x + y, same shape. Throws: ShapeError.
Variable add(const Variable& x, const Variable& y);

}  // namespace octet
