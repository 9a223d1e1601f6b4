// The same values in another shape or order.
#pragma once

#include <octet/runtime/variable.h>

namespace octet {

/// One dimension may be Shape::kAnySize. Throws: ShapeError.
Variable reshape(const Variable& x, const Shape& shape);

}  // namespace octet
