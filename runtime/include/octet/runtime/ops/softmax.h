// Softmax.
#pragma once

#include <octet/runtime/variable.h>

namespace octet {

/// exp(x) / sum exp(x) along an axis, within 3e-7 of the exact value; NaN for
/// slices with NaN or inf, or with only -inf.
/// Throws: ShapeError for an axis out of range or of size 0.
Variable softmax(const Variable& x, int axis = -1);

}  // namespace octet
