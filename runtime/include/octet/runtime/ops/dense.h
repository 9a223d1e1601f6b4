// Matrix products.
#pragma once

#include <octet/runtime/variable.h>

namespace octet {

/// Matrix product over the last axis.
/// Shapes: x [...,c], kernel [c,units] -> [...,units]. Throws: ShapeError.
Variable dense(const Variable& x, const Variable& kernel);

/// Fields in order: transpose_a, transpose_b
struct MatmulOptions {
  bool transpose_a = false;  ///< a holds [...,k,m]
  bool transpose_b = false;  ///< b holds [...,n,k]
};

/// Products of the matrices that the last two axes hold.
/// Shapes: a [...,m,k], b [...,k,n] -> [...,m,n]; the axes before are a batch,
/// broadcast as in NumPy. Where a ends on a grid of at most 8 bits and b on one
/// within int8, with one scale each and zero among their codes, these are
/// multiplied, and their sums scaled once, as dense() does.
///
/// Throws: ShapeError.
Variable matmul(const Variable& a, const Variable& b,
                const MatmulOptions& options = {});

}  // namespace octet
