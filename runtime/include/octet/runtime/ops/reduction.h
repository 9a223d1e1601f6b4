// Reductions over some axes or all elements. Sums are taken in a fixed order,
// single precision in short runs and double precision across them, so the
// results are the same bits for any number of threads.
#pragma once

#include <vector>

#include <octet/runtime/variable.h>

namespace octet {

/// Whether reduced axes stay, with size 1.
enum class Keepdims { no, yes };

/// Sums over all elements, a rank-0 result, or over `axes`; negative axes
/// count from the end, no axes leave x as it is.
/// Throws: ShapeError for an axis that does not exist or comes twice.
Variable sum(const Variable& x);
Variable sum(const Variable& x, const std::vector<int>& axes,
             Keepdims keepdims = Keepdims::no);

/// Means. Throws: as sum, and ShapeError over no values.
Variable mean(const Variable& x);
Variable mean(const Variable& x, const std::vector<int>& axes,
              Keepdims keepdims = Keepdims::no);

/// Largest values; NaN if there is one. Equal largest values share the
/// gradient equally, as in JAX. Throws: as mean.
Variable max(const Variable& x);
Variable max(const Variable& x, const std::vector<int>& axes,
             Keepdims keepdims = Keepdims::no);

}  // namespace octet
