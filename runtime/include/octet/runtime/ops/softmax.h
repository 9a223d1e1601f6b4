// Softmax.
#pragma once

#include <octet/runtime/variable.h>

namespace octet {

/// exp(x) / sum exp(x) over one axis, within 3e-7 of the exact value; NaN
/// where a line along the axis holds NaN or inf, or nothing but -inf.
/// Throws: ShapeError for an axis out of range or without values.
Variable softmax(const Variable& x, int axis = -1);

}  // namespace octet
