// Plain matrix products on the multiply kernels, which operate on images.
#pragma once

#include <cstdint>

#include "kernels/kernels.h"

namespace octet {

/// Number of chunks of `rows` rows, from their number alone: at most 16, each
/// large enough to fill a tile.
int64_t row_chunks(int64_t rows);

/// Number of chunks per matrix for `count` matrices: few large matrices are
/// split, many small ones are not.
int64_t chunks_of_rows(int64_t count, int64_t rows);

/// Rows of a matrix, `stride` floats apart.
struct MatrixRows {
  const float* values;
  int64_t count;
  int64_t stride;
};

/// out[rows][channels] = a[rows][depth] * packed panels, in blocks of depth;
/// `last` specifies output and epilogue, with contiguous rows unless it has a
/// pixel stride.
void multiply_rows(const MatrixRows& a, int64_t depth, const float* panels,
                   int64_t channels, const kernels::Epilogue& last);

/// out[columns][channels] += a^T b for the first `columns` columns of
/// a[rows][a_pixel], and b[rows][channels].
void multiply_columns(const float* a, int64_t rows, int64_t columns,
                      int64_t a_pixel, const float* b, int64_t channels,
                      float* out);

}  // namespace octet
