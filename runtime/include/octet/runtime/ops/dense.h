// Matrix products.
#pragma once

#include <octet/runtime/variable.h>

namespace octet {

/// Matrix product over the last axis.
/// Shapes: x [...,c], kernel [c,units] -> [...,units]. Throws: ShapeError.
Variable dense(const Variable& x, const Variable& kernel);

/// Fields in order: transpose_a, transpose_b
struct MatmulOptions {
  bool transpose_a = false;  ///< a is [...,k,m]
  bool transpose_b = false;  ///< b is [...,n,k]
};

/// Matrix products over the last two axes.
/// Shapes: a [...,m,k], b [...,k,n] -> [...,m,n]; leading axes are batch
/// dimensions, broadcast as in NumPy. Quantized values are multiplied and their
/// sums scaled once, as in dense(), if a is quantized to at most 8 bits and b
/// within int8, per tensor and with ranges that include 0.
/// Throws: ShapeError.
Variable matmul(const Variable& a, const Variable& b,
                const MatmulOptions& options = {});

}  // namespace octet
