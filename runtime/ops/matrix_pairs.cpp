#include "matrix_pairs.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <octet/runtime/error.h>

namespace octet {
namespace {

[[noreturn]] void refuse(const Shape& a, const Shape& b,
                         const MatmulOptions& o) {
  throw ShapeError(
      "shape_mismatch", "matmul",
      fmt::format("a must be [...,{}] and b [...,{}] with broadcastable batch "
                  "axes, got {} and {}",
                  o.transpose_a ? "k,m" : "m,k", o.transpose_b ? "n,k" : "k,n",
                  a.to_string(), b.to_string()));
}

int64_t dim_or_one(const Shape& batch, int axis) {
  return axis < 0 ? 1 : batch[axis];
}

}  // namespace

Shape MatrixPairs::result() const {
  std::vector<int64_t> dims(batch.dims().begin(), batch.dims().end());
  dims.insert(dims.end(), {m, n});
  return Shape(std::span<const int64_t>(dims));
}

MatrixPairs pair_up(const Shape& a, const Shape& b, const MatmulOptions& o) {
  MatrixPairs p;
  if (a.rank() < 2 || b.rank() < 2) refuse(a, b, o);
  p.m = a[o.transpose_a ? -1 : -2];
  p.depth = a[o.transpose_a ? -2 : -1];
  p.n = b[o.transpose_b ? -2 : -1];
  if (p.depth != b[o.transpose_b ? -1 : -2]) refuse(a, b, o);

  const Shape a_batch = a.slice(0, a.rank() - 2);
  const Shape b_batch = b.slice(0, b.rank() - 2);
  const int rank = std::max(a_batch.rank(), b_batch.rank());
  p.a = {0};
  p.b = {0};
  std::vector<int64_t> dims;
  for (int axis = 0; axis < rank; ++axis) {
    const int64_t da = dim_or_one(a_batch, axis - rank + a_batch.rank());
    const int64_t db = dim_or_one(b_batch, axis - rank + b_batch.rank());
    if (da != db && da != 1 && db != 1) refuse(a, b, o);
    const int64_t d = da == 1 ? db : da;
    dims.push_back(d);
    const auto spread = [d](std::vector<int64_t>& at, int64_t own) {
      std::vector<int64_t> next;
      for (const int64_t i : at) {
        for (int64_t k = 0; k < d; ++k) {
          next.push_back(i * own + (own == 1 ? 0 : k));
        }
      }
      at = std::move(next);
    };
    spread(p.a, da);
    spread(p.b, db);
  }
  p.batch = Shape(std::span<const int64_t>(dims));
  return p;
}

// Transposes in blocks that fit in the cache.
void transpose_matrix(const float* from, int64_t rows, int64_t columns,
                      float* to) {
  constexpr int64_t kSide = 16;
  for (int64_t r = 0; r < rows; r += kSide) {
    const int64_t last = std::min(r + kSide, rows);
    for (int64_t c = 0; c < columns; ++c) {
      for (int64_t i = r; i < last; ++i) {
        to[c * rows + i] = from[i * columns + c];
      }
    }
  }
}

Tensor transpose_matrices(const Tensor& x) {
  const int64_t rows = x.shape()[-2], columns = x.shape()[-1];
  const int64_t size = rows * columns;
  Tensor result(x.shape().with(-2, columns).with(-1, rows));
  const float* from = x.f32().data();
  float* to = result.f32().data();
  parallel_chunks(size == 0 ? 0 : x.size() / size, [&](int64_t first,
                                                       int64_t last, int64_t) {
    for (int64_t i = first; i < last; ++i) {
      transpose_matrix(from + i * size, rows, columns, to + i * size);
    }
  });
  return result;
}

}  // namespace octet
