// Plain matrices for the multiply kernels, which speak of images.
#pragma once

#include <cstdint>

#include "../kernels/kernels.h"

namespace octet {

/// Chunks that `rows` rows are cut into, by their number alone: at most 16,
/// each of enough rows to fill a tile.
int64_t row_chunks(int64_t rows);

/// The same of each of `count` matrices: many small ones are cut between them,
/// few large ones within.
int64_t chunks_of_rows(int64_t count, int64_t rows);

/// out[rows][channels] = a[rows][depth] * packed panels, in blocks of depth;
/// `last` says where to and what follows.
void multiply_rows(const float* a, int64_t rows, int64_t depth,
                   const float* panels, int64_t channels,
                   const kernels::Epilogue& last);

/// out[columns][channels] += a^T b for a[rows][a_pixel], of which `columns`
/// columns are read, and b[rows][channels].
void multiply_columns(const float* a, int64_t rows, int64_t columns,
                      int64_t a_pixel, const float* b, int64_t channels,
                      float* out);

}  // namespace octet
