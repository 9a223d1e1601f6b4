// Comparison and selection. Tensors broadcast as in arithmetic.h.
#pragma once

#include <octet/runtime/variable.h>

namespace octet {

enum class Comparison {
  equal,
  not_equal,
  greater,
  greater_equal,
  less,
  less_equal,
};

/// 1 where the comparison is true, else 0; NaN compares unequal to everything.
/// The gradient is zero. Throws: ShapeError.
Variable compare(Comparison comparison, const Variable& x, const Variable& y);
/// x where the condition is nonzero, else y; gradients likewise. Unselected
/// values may be NaN. Throws: ShapeError.
Variable where(const Variable& condition, const Variable& x, const Variable& y);

}  // namespace octet
