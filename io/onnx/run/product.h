// Matrix products, the core of convolutions and all MatMul operators.
#pragma once

#include <cstdint>

#include "node.h"

namespace octet::io::run {

/// Rows of floats, `stride` elements apart.
struct RowMajorView {
  const float* data;
  int64_t stride;
};

/// y [m,n] += a [m,k] * b [k,n]; rows of y are `stride` apart. Floats are added
/// in blocks of 256 products. For int32, a and b contain integers up to 255 in
/// magnitude; the sum is exact modulo 2^32, as on a device.
/// Throws: FormatError after the deadline.
void add_product(const NodeContext& context, int64_t m, int64_t k, int64_t n,
                 RowMajorView a, RowMajorView b, float* y, int64_t stride);
void add_product(const NodeContext& context, int64_t m, int64_t k, int64_t n,
                 RowMajorView a, RowMajorView b, int32_t* y, int64_t stride);

/// Returns a matrix or its transposed copy.
/// Throws: FormatError for other ranks.
Tensor oriented(const NodeContext& context, const Tensor& x, bool transposed);

/// a * b with NumPy's rules, a product for each matrix of the batch.
/// Throws: FormatError for shapes that do not fit.
Tensor multiply(const NodeContext& context, const Tensor& a, const Tensor& b);
/// multiply() for integers up to 255 in magnitude, stored as floats; int32.
Tensor multiply_quantized(const NodeContext& context, const Tensor& a,
                          const Tensor& b);

}  // namespace octet::io::run
