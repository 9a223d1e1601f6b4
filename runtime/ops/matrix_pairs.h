// Pairs of matrices that matmul() multiplies.
#pragma once

#include <vector>

#include <octet/runtime/ops.h>
#include <octet/runtime/parallel.h>

#include "tensor/arena.h"

namespace octet {

struct MatrixPairs {
  Shape batch;             // of the result
  std::vector<int64_t> a;  // per result matrix: index of the matrix of a
  std::vector<int64_t> b;
  int64_t m = 0, depth = 0, n = 0;

  int64_t count() const { return static_cast<int64_t>(a.size()); }
  Shape result() const;  // [...,m,n]
};

/// Throws: ShapeError if the shapes are incompatible.
MatrixPairs pair_up(const Shape& a, const Shape& b, const MatmulOptions& o);

/// to[columns][rows] = from[rows][columns].
void transpose_matrix(const float* from, int64_t rows, int64_t columns,
                      float* to);
/// [...,rows,columns] -> [...,columns,rows].
Tensor transpose_matrices(const Tensor& x);

/// Calls body(i, matrix) for each matrix [depth][n] of b, in parallel.
template <class Body>
void for_right_matrices(const Tensor& b, const MatrixPairs& p, bool transposed,
                        const Body& body) {
  const int64_t size = p.depth * p.n;
  const float* from = b.f32().data();
  parallel_chunks(b.size() / size, [&](int64_t first, int64_t last, int64_t) {
    for (int64_t i = first; i < last; ++i) {
      const float* matrix = from + i * size;
      if (transposed) {
        float* by_depth = arena::scratch(0, size);
        transpose_matrix(matrix, p.n, p.depth, by_depth);
        matrix = by_depth;
      }
      body(i, matrix);
    }
  });
}

}  // namespace octet
