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

}  // namespace octet::io::run
