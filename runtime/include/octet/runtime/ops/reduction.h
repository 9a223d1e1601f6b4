// Reductions over some axes or all elements. Sums are accumulated in a fixed
// order, in single precision over short runs and in double precision across
// them: bit-identical for any number of threads.
#pragma once

#include <vector>

#include <octet/runtime/variable.h>

namespace octet {

/// Whether reduced axes are kept with size 1.
enum class Keepdims { no, yes };

/// Sums over all elements (a rank-0 result) or over `axes`. Negative axes count
/// from the end; an empty list returns x unchanged.
/// Throws: ShapeError for an axis that does not exist or is repeated.
Variable sum(const Variable& x);
Variable sum(const Variable& x, const std::vector<int>& axes,
             Keepdims keepdims = Keepdims::no);

/// Means. Throws: as sum, and ShapeError for reductions over no values.
Variable mean(const Variable& x);
Variable mean(const Variable& x, const std::vector<int>& axes,
              Keepdims keepdims = Keepdims::no);

/// Maxima; NaN if any value is NaN. Equal maxima share the gradient equally, as
/// in JAX. Throws: as mean.
Variable max(const Variable& x);
Variable max(const Variable& x, const std::vector<int>& axes,
             Keepdims keepdims = Keepdims::no);

/// Minima, with the same rules as max.
Variable min(const Variable& x);
Variable min(const Variable& x, const std::vector<int>& axes,
             Keepdims keepdims = Keepdims::no);

/// Products, accumulated in double precision; 1 for reductions over no values.
/// The gradient of a value is the product of the others, also beside zeros.
/// Throws: as sum.
Variable prod(const Variable& x);
Variable prod(const Variable& x, const std::vector<int>& axes,
              Keepdims keepdims = Keepdims::no);

}  // namespace octet
