// Products of matrices: what convolutions and all kinds of MatMul come down to.
#pragma once

#include <cstdint>

#include "node.h"

namespace octet::io::run {

/// Rows of floats, `stride` elements apart.
struct Rows {
  const float* data;
  int64_t stride;
};

/// y [m,n] += a [m,k] * b [k,n]; rows of y are `stride` apart. Floats are
/// summed in parts of 256 products. Of int32, a and b hold integers up to 255
/// in magnitude; the sum is exact, modulo 2^32 as a device adds it.
/// Throws: FormatError if the time of the run is over.
void add_product(const NodeContext& context, int64_t m, int64_t k, int64_t n,
                 Rows a, Rows b, float* y, int64_t stride);
void add_product(const NodeContext& context, int64_t m, int64_t k, int64_t n,
                 Rows a, Rows b, int32_t* y, int64_t stride);

/// A matrix, or a copy of it with rows and columns exchanged.
/// Throws: FormatError for other ranks.
Tensor oriented(const NodeContext& context, const Tensor& x, bool transposed);

/// a * b under NumPy's rules, one product for each of the batch.
/// Throws: FormatError for shapes that do not fit.
Tensor multiply(const NodeContext& context, const Tensor& a, const Tensor& b);
/// The same of integers up to 255 in magnitude, held as floats; int32.
Tensor multiply_codes(const NodeContext& context, const Tensor& a,
                      const Tensor& b);

}  // namespace octet::io::run
