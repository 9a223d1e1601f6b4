#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <octet/runtime/error.h>
#include <octet/runtime/ops.h>
#include <octet/runtime/parallel.h>

#include "../arena.h"
#include "matrices.h"

namespace octet {
namespace {

constexpr int64_t kColumns = 64;  // of a transposed factor, to one task

// The pairs of matrices that are multiplied.
struct Pairs {
  Shape batch;             // of the result
  std::vector<int64_t> a;  // which matrix of a, for every one of the result
  std::vector<int64_t> b;
  int64_t m = 0, depth = 0, n = 0;
};

[[noreturn]] void refuse(const Shape& a, const Shape& b,
                         const MatmulOptions& o) {
  throw ShapeError(
      fmt::format("matmul: expected a [...,{}] and b [...,{}] with equal or "
                  "broadcastable batches, got {} and {}",
                  o.transpose_a ? "k,m" : "m,k", o.transpose_b ? "n,k" : "k,n",
                  a.to_string(), b.to_string()));
}

int64_t dim_or_one(const Shape& batch, int axis) {
  return axis < 0 ? 1 : batch[axis];
}

Pairs pair_up(const Shape& a, const Shape& b, const MatmulOptions& o) {
  Pairs p;
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

// to[columns][rows] = from[rows][columns], in blocks that stay in the cache.
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

// b's matrices, transposed from [n][depth] to [depth][n] if they are stored so.
Tensor by_depth(const Tensor& b, const Pairs& p, bool transposed) {
  if (!transposed) return b;
  const int64_t size = p.depth * p.n;
  Tensor result(b.shape());
  const float* from = b.f32().data();
  float* to = result.f32().data();
  parallel_chunks(size == 0 ? 0 : b.size() / size, [&](int64_t first,
                                                       int64_t last, int64_t) {
    for (int64_t i = first; i < last; ++i) {
      transpose_matrix(from + i * size, p.n, p.depth, to + i * size);
    }
  });
  return result;
}

void multiply_transposed(const float* a, const float* b, const Pairs& p,
                         float* out) {
  const int64_t count = static_cast<int64_t>(p.a.size());
  const int64_t chunks = (p.m + kColumns - 1) / kColumns;
  parallel_chunks(count * chunks, [&](int64_t first, int64_t last, int64_t) {
    for (int64_t task = first; task < last; ++task) {
      const int64_t column = task % chunks * kColumns;
      const size_t i = static_cast<size_t>(task / chunks);
      multiply_columns(a + p.a[i] * p.depth * p.m + column, p.depth,
                       std::min(kColumns, p.m - column), p.m,
                       b + p.b[i] * p.depth * p.n, p.n,
                       out + (task / chunks * p.m + column) * p.n);
    }
  });
}

Tensor pack_all(const Tensor& b, const Pairs& p, bool transposed) {
  const auto& table = kernels::table();
  const int64_t size = p.depth * p.n;
  const int64_t count = b.size() / size;
  const int64_t packed = table.packed_size(p.depth, p.n);
  Tensor panels({count, packed});
  const float* from = b.f32().data();
  float* to = panels.f32().data();
  parallel_chunks(count, [&](int64_t first, int64_t last, int64_t) {
    for (int64_t i = first; i < last; ++i) {
      const float* block = from + i * size;
      if (transposed) {
        float* columns = arena::scratch(0, size);
        transpose_matrix(block, p.n, p.depth, columns);
        block = columns;
      }
      table.pack({.blocks = &block,
                  .block_count = 1,
                  .rows = p.depth,
                  .channels = p.n,
                  .row = p.n,
                  .out = to + i * packed});
    }
  });
  return panels;
}

Tensor product(const Tensor& a, const Tensor& b, const MatmulOptions& o) {
  const Pairs p = pair_up(a.shape(), b.shape(), o);
  std::vector<int64_t> dims(p.batch.dims().begin(), p.batch.dims().end());
  dims.insert(dims.end(), {p.m, p.n});
  const Shape shape{std::span<const int64_t>(dims)};
  if (p.depth == 0 || shape.size() == 0) return Tensor::zeros(shape);
  if (o.transpose_a) {
    Tensor y = Tensor::zeros(shape);
    const Tensor right = by_depth(b, p, o.transpose_b);
    multiply_transposed(a.f32().data(), right.f32().data(), p, y.f32().data());
    return y;
  }
  Tensor y(shape);
  const Tensor panels = pack_all(b, p, o.transpose_b);
  const int64_t packed = panels.shape()[1];
  const int64_t count = static_cast<int64_t>(p.a.size());
  // Many small matrices are cut between them, few large ones within.
  const int64_t chunks = count >= 16 ? 1 : row_chunks(p.m);
  const float* left = a.f32().data();
  float* out = y.f32().data();
  parallel_chunks(count * chunks, [&](int64_t first, int64_t last, int64_t) {
    for (int64_t task = first; task < last; ++task) {
      const size_t i = static_cast<size_t>(task / chunks);
      const int64_t row = p.m * (task % chunks) / chunks;
      const int64_t end = p.m * (task % chunks + 1) / chunks;
      kernels::Epilogue epilogue;
      epilogue.out = out + (task / chunks * p.m + row) * p.n;
      multiply_rows(left + (p.a[i] * p.m + row) * p.depth, end - row, p.depth,
                    panels.f32().data() + p.b[i] * packed, p.n, epilogue);
    }
  });
  return y;
}

}  // namespace

Variable matmul(const Variable& a, const Variable& b,
                const MatmulOptions& options) {
  const Shape& x = a.shape();
  if (b.shape().rank() == 2 && x.rank() > 2 && !options.transpose_a) {
    // One right factor for all: the batch is more rows of one matrix.
    if (x[-1] != b.shape()[options.transpose_b ? 1 : 0]) {
      refuse(x, b.shape(), options);
    }
    const Shape rows{x.slice(0, x.rank() - 1).size(), x[-1]};
    const Variable y = matmul(reshape(a, rows), b, options);
    return reshape(y, x.with(-1, y.shape()[1]));
  }
  const Tensor left = a.value();
  const Tensor right = b.value();
  const bool need_a = a.requires_grad();
  const bool need_b = b.requires_grad();
  return record("matmul", {a, b}, product(left, right, options),
                {need_b ? left : Tensor(), need_a ? right : Tensor()},
                [left, right, ta = options.transpose_a,
                 tb = options.transpose_b, need_a, need_b](const Tensor& dy) {
                  Tensor da, db;
                  if (need_a) {
                    da = ta ? product(right, dy, {tb, true})
                            : product(dy, right, {false, !tb});
                  }
                  if (need_b) {
                    db = tb ? product(dy, left, {true, ta})
                            : product(left, dy, {!ta, false});
                  }
                  return std::vector{da, db};
                });
}

}  // namespace octet
