// Which matrices matmul() multiplies by which.
#pragma once

#include <vector>

#include <octet/runtime/ops.h>

namespace octet {

struct MatrixPairs {
  Shape batch;             // of the result
  std::vector<int64_t> a;  // which matrix of a, for every one of the result
  std::vector<int64_t> b;
  int64_t m = 0, depth = 0, n = 0;

  int64_t count() const { return static_cast<int64_t>(a.size()); }
  Shape result() const;  // [...,m,n]
};

/// Throws: ShapeError if they do not fit.
MatrixPairs pair_up(const Shape& a, const Shape& b, const MatmulOptions& o);

/// to[columns][rows] = from[rows][columns].
void transpose_matrix(const float* from, int64_t rows, int64_t columns,
                      float* to);

}  // namespace octet
