// Matrix products.
#pragma once

#include <octet/runtime/variable.h>

namespace octet {

/// Matrix product over the last axis.
/// Shapes: x [...,c], kernel [c,units] -> [...,units]. Throws: ShapeError.
Variable dense(const Variable& x, const Variable& kernel);

}  // namespace octet
