// Comparisons, and choosing by them. Tensors broadcast as in arithmetic.h.
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

/// 1 where the comparison holds, 0 elsewhere; NaN is not equal to anything. No
/// gradient goes through it. Throws: ShapeError.
Variable compare(Comparison comparison, const Variable& x, const Variable& y);
/// x where the condition is not 0, y elsewhere, and so the gradient; what is
/// not chosen may be NaN. Throws: ShapeError.
Variable where(const Variable& condition, const Variable& x, const Variable& y);

}  // namespace octet
