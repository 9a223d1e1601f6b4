#include <octet/runtime/ops/recurrent.h>

#include "inference/trace.h"
#include "kernels/kernels.h"
#include "matrices.h"
#include "recurrent_cells.h"
#include "tensor/arena.h"

namespace octet {
namespace {

void run_simple_rnn(const SequenceSizes& s, CellFunction f,
                    const Tensor& panels, const Tensor& x, Tensor& y) {
  const int64_t u = s.units;
  const float* from = x.f32().data();
  float* to = y.f32().data();
  for_sample_blocks(s.n, [&](int64_t first, int64_t last) {
    const int64_t rows = last - first;
    float* h = arena::scratch(0, rows * u);
    float* z = arena::scratch(1, rows * u);
    std::fill_n(z, rows * u, 0.0f);
    for (int64_t k = 0; k < s.steps; ++k) {
      if (k > 0) {
        multiply_rows({h, rows, u}, u, panels.f32().data(), u, {.out = z});
      }
      for (int64_t r = 0; r < rows; ++r) {
        const int64_t at = s.row(first + r, k) * u;
        kernels::table().accumulate(z + r * u, from + at, u);
        apply(f, z + r * u, u);
        std::copy_n(z + r * u, u, to + at);
      }
      std::swap(h, z);
    }
  });
}

// The gradient of x.
Tensor simple_rnn_gradient(const SequenceSizes& s, CellFunction f,
                           const Tensor& kernel, const Tensor& y,
                           const Tensor& dy) {
  const int64_t u = s.units;
  const Tensor panels = pack_transposed_columns(kernel, 0, u);
  Tensor dx(y.shape());
  const float* states = y.f32().data();
  const float* given = dy.f32().data();
  float* to = dx.f32().data();
  for_sample_blocks(s.n, [&](int64_t first, int64_t last) {
    const int64_t rows = last - first;
    float* dh = arena::scratch(0, rows * u);
    std::fill_n(dh, rows * u, 0.0f);
    for (int64_t k = s.steps - 1; k >= 0; --k) {
      for (int64_t r = 0; r < rows; ++r) {
        const int64_t at = s.row(first + r, k) * u;
        for (int64_t j = 0; j < u; ++j) {
          to[at + j] = given[at + j] + dh[r * u + j];
        }
        multiply_by_slope(f, states + at, to + at, u);
      }
      if (k == 0) break;
      multiply_rows({to + s.row(first, k) * u, rows, s.steps * u}, u,
                    panels.f32().data(), u, {.out = dh});
    }
  });
  return dx;
}

}  // namespace

Variable simple_rnn(const Variable& x, const Variable& kernel,
                    const RecurrentOptions& options) {
  const SequenceSizes s = sequence_sizes("simple_rnn", x.shape(),
                                         kernel.shape(), 1, options.backwards);
  const CellFunction f = options.activation;
  const Tensor& weight = kernel.value();
  const Tensor panels = pack_columns(weight, 0, s.units);
  Variable traced = inference::offer([&] {
    return inference::TracedOp{
        .op = "simple_rnn",
        .inputs = {x},
        .shape = x.shape(),
        .forward = [s, f, panels](std::span<const Tensor> in, Tensor& y) {
          run_simple_rnn(s.with_samples(y.shape()[0]), f, panels, in[0], y);
        }};
  });
  if (traced) return traced;
  Tensor y(x.shape());
  run_simple_rnn(s, f, panels, x.value(), y);
  return record(
      "simple_rnn", {x, kernel}, y, {weight, y}, [=](const Tensor& dy) {
        const Tensor dx = simple_rnn_gradient(s, f, weight, y, dy);
        return std::vector{dx, product_of_rows(states_before(y, s), dx)};
      });
}

}  // namespace octet
