#include <algorithm>
#include <utility>

#include <octet/runtime/ops.h>
#include <octet/runtime/parallel.h>

#include "inference/by_samples.h"
#include "inference/trace.h"
#include "matmul_codes.h"
#include "matrices.h"
#include "weights.h"

namespace octet {
namespace {

using autograd::Expression;

constexpr int64_t kColumns = 64;  // of a transposed operand, per task

void multiply_transposed(const float* a, const float* b, const MatrixPairs& p,
                         float* out) {
  const int64_t count = p.count();
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

Tensor pack_all(const Tensor& b, const MatrixPairs& p, bool transposed) {
  const auto& table = kernels::table();
  const int64_t packed = table.packed_size(p.depth, p.n);
  Tensor panels({b.size() / (p.depth * p.n), packed});
  float* to = panels.f32().data();
  const int64_t size = p.depth * p.n;
  const float* from = b.f32().data();
  parallel_chunks(b.size() / size, [&](int64_t first, int64_t last, int64_t) {
    for (int64_t i = first; i < last; ++i) {
      const float* matrix = from + i * size;
      table.pack({.blocks = &matrix,
                  .block_count = 1,
                  .rows = p.depth,
                  .channels = p.n,
                  .row = transposed ? p.depth : p.n,
                  .transposed = transposed,
                  .out = to + i * packed});
    }
  });
  return panels;
}

void multiply(const Tensor& a, const Tensor& b, const MatrixPairs& p,
              const MatmulOptions& o, Tensor& y) {
  if (p.depth == 0 || o.transpose_a) std::ranges::fill(y.f32(), 0.0f);
  if (p.depth == 0 || y.size() == 0) return;
  if (o.transpose_a) {
    const Tensor right = o.transpose_b ? transpose_matrices(b) : b;
    multiply_transposed(a.f32().data(), right.f32().data(), p, y.f32().data());
    return;
  }
  const Tensor panels = pack_all(b, p, o.transpose_b);
  const int64_t packed = panels.shape()[1];
  const int64_t count = p.count();
  const int64_t chunks = chunks_of_rows(count, p.m);
  const float* left = a.f32().data();
  float* out = y.f32().data();
  parallel_chunks(count * chunks, [&](int64_t first, int64_t last, int64_t) {
    for (int64_t task = first; task < last; ++task) {
      const size_t i = static_cast<size_t>(task / chunks);
      const int64_t row = p.m * (task % chunks) / chunks;
      const int64_t end = p.m * (task % chunks + 1) / chunks;
      kernels::Epilogue epilogue;
      epilogue.out = out + (task / chunks * p.m + row) * p.n;
      multiply_rows({left + (p.a[i] * p.m + row) * p.depth, end - row, p.depth},
                    p.depth, panels.f32().data() + p.b[i] * packed, p.n,
                    epilogue);
    }
  });
}

Tensor product(const Tensor& a, const Tensor& b, const MatrixPairs& p,
               const MatmulOptions& o) {
  Tensor y(p.result());
  multiply(a, b, p, o, y);
  return y;
}

Tensor product(const Tensor& a, const Tensor& b, const MatmulOptions& o) {
  return product(a, b, pair_up(a.shape(), b.shape(), o), o);
}

// Multiplies quantized values, in integers if possible. REQUIRES: have_codes().
void multiply_codes(const Expression& a, const Expression& b,
                    const MatrixPairs& p, const MatmulOptions& o, Tensor& y) {
  if (!autograd::float_codes() && sums_fit(p.depth, a.qparams) &&
      multiply_quantized(a, b, p, o, y)) {
    return;
  }
  // NaN has no quantized value; floats propagate it.
  multiply(float_codes_of(a), float_codes_of(b), p, o, y);
  const float scale = code_scale(a, b);
  for (float& v : y.f32()) v *= scale;
}

// A single right operand: the batch is folded into the rows.
Shape rows_of(const Shape& a, const Shape& b, const MatmulOptions& o) {
  if (b.rank() != 2 || o.transpose_a) return a;
  return {a.slice(0, a.rank() - 1).size(), a[-1]};
}

}  // namespace

Variable matmul(const Variable& a, const Variable& b,
                const MatmulOptions& options) {
  const Shape& x = a.shape();
  const Shape result = pair_up(x, b.shape(), options).result();
  const Shape rows = rows_of(x, b.shape(), options);
  const bool one = rows != x;
  const MatrixPairs pairs = pair_up(rows, b.shape(), options);
  const bool need_a = a.requires_grad();
  const bool need_b = b.requires_grad();
  const bool recorded = grad_enabled() && (need_a || need_b);
  const Tensor left = recorded && need_b ? a.value() : Tensor();
  const Tensor right = recorded && need_a ? b.value() : Tensor();
  const Expression left_operand = autograd::expression_of(a);
  const Expression right_operand = autograd::expression_of(b);
  const bool codes =
      result.size() > 0 && have_codes(left_operand, right_operand);
  // Of matrices of rank 2, only the rows of the left one are samples.
  const bool rows_are_samples =
      !options.transpose_a && !inference::is_traced(b);
  const Variable traced = inference::offer([&] {
    return inference::TracedOp{
        .op = "matmul",
        .inputs = {a, b},
        .shape = result,
        .attributes = inference::MatrixProduct{options, codes},
        .forward =
            [l = inference::Operand(left_operand),
             r = inference::Operand(right_operand), options, codes,
             known = std::make_shared<inference::BySamples<MatrixPairs>>()](
                std::span<const Tensor> in, Tensor& y) {
              const Tensor by_rows = in[0].reshaped(
                  rows_of(in[0].shape(), in[1].shape(), options));
              const auto p = known->of(y.shape()[0], [&] {
                return std::make_shared<const MatrixPairs>(
                    pair_up(by_rows.shape(), in[1].shape(), options));
              });
              if (codes) {
                multiply_codes(l.of(by_rows), r.of(in[1]), *p, options, y);
              } else {
                multiply(by_rows, in[1], *p, options, y);
              }
            },
        .broadcasts = true,
        .across_samples = result.rank() == 2 && !rows_are_samples};
  });
  if (traced) return traced;
  Tensor y(pairs.result());
  if (codes) {
    multiply_codes(left_operand, right_operand, pairs, options, y);
  } else {
    multiply(a.value(), b.value(), pairs, options, y);
  }
  return record("matmul", {a, b}, y.reshaped(result), {left, right},
                [=, from = x, shape = pairs.result(), ta = options.transpose_a,
                 tb = options.transpose_b](const Tensor& g) {
                  const Tensor dy = g.reshaped(shape);
                  Tensor da, db;
                  if (need_a) {
                    da = ta ? product(right, dy, {tb, true})
                            : product(dy, right, {false, !tb});
                    if (one) da = da.reshaped(from);
                  }
                  if (need_b) {
                    const Tensor rows_of_a = left.reshaped(rows);
                    db = tb ? product(dy, rows_of_a, {true, ta})
                            : product(rows_of_a, dy, {!ta, false});
                  }
                  return std::vector{da, db};
                });
}

}  // namespace octet
