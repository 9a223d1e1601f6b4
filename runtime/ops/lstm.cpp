#include <octet/runtime/ops/recurrent.h>

#include "inference/trace.h"
#include "kernels/kernels.h"
#include "matrices.h"
#include "recurrent_cells.h"
#include "tensor/arena.h"

namespace octet {
namespace {

// Values of all steps for the gradient.
struct LstmSteps {
  Tensor gates;  // [n,t,4*units]: i, f, g, o after their functions
  Tensor cells;  // [n,t,units]
};

void run_lstm(const SequenceSizes& s, const RecurrentOptions& o,
              const Tensor& panels, const Tensor& x, Tensor& y,
              LstmSteps* saved) {
  const int64_t u = s.units;
  const int64_t width = s.width();
  const float* from = x.f32().data();
  float* to = y.f32().data();
  float* gates = saved == nullptr ? nullptr : saved->gates.f32().data();
  float* cells = saved == nullptr ? nullptr : saved->cells.f32().data();
  for_sample_blocks(s.n, [&](int64_t first, int64_t last) {
    const int64_t rows = last - first;
    float* z = arena::scratch(0, rows * width);
    float* h = arena::scratch(1, rows * u);
    float* c = arena::scratch(2, rows * u);
    std::fill_n(z, rows * width, 0.0f);
    std::fill_n(c, rows * u, 0.0f);
    for (int64_t k = 0; k < s.steps; ++k) {
      if (k > 0) {
        multiply_rows({h, rows, u}, u, panels.f32().data(), width, {.out = z});
      }
      for (int64_t r = 0; r < rows; ++r) {
        const int64_t at = s.row(first + r, k);
        float* const g = z + r * width;
        float* const cell = c + r * u;
        float* const state = h + r * u;
        kernels::table().accumulate(g, from + at * width, width);
        apply(o.recurrent_activation, g, 2 * u);
        apply(o.activation, g + 2 * u, u);
        apply(o.recurrent_activation, g + 3 * u, u);
        for (int64_t j = 0; j < u; ++j) {
          cell[j] = g[u + j] * cell[j] + g[j] * g[2 * u + j];
          state[j] = cell[j];
        }
        apply(o.activation, state, u);
        for (int64_t j = 0; j < u; ++j) state[j] *= g[3 * u + j];
        std::copy_n(state, u, to + at * u);
        if (saved == nullptr) continue;
        std::copy_n(g, width, gates + at * width);
        std::copy_n(cell, u, cells + at * u);
      }
    }
  });
}

// Returns the gradient with respect to x.
Tensor lstm_gradient(const SequenceSizes& s, const RecurrentOptions& o,
                     const Tensor& kernel, const LstmSteps& saved,
                     const Tensor& dy) {
  const int64_t u = s.units;
  const int64_t width = s.width();
  const Tensor panels = pack_transposed_columns(kernel, 0, width);
  Tensor dx(saved.gates.shape());
  const float* gates = saved.gates.f32().data();
  const float* cells = saved.cells.f32().data();
  const float* given = dy.f32().data();
  float* to = dx.f32().data();
  const Tensor zeros = Tensor::zeros({u});
  for_sample_blocks(s.n, [&](int64_t first, int64_t last) {
    const int64_t rows = last - first;
    float* dh = arena::scratch(0, rows * u);
    float* dc = arena::scratch(1, rows * u);
    float* active = arena::scratch(2, u);  // activation(c)
    float* through = arena::scratch(3, u);
    std::fill_n(dh, rows * u, 0.0f);
    std::fill_n(dc, rows * u, 0.0f);
    for (int64_t k = s.steps - 1; k >= 0; --k) {
      for (int64_t r = 0; r < rows; ++r) {
        const int64_t at = s.row(first + r, k);
        const float* before =
            k == 0 ? zeros.f32().data() : cells + s.row(first + r, k - 1) * u;
        const float* const g = gates + at * width;
        float* const d = to + at * width;
        float* const dcell = dc + r * u;
        std::copy_n(cells + at * u, u, active);
        apply(o.activation, active, u);
        for (int64_t j = 0; j < u; ++j) {
          const float dstate = given[at * u + j] + dh[r * u + j];
          d[3 * u + j] = dstate * active[j];
          through[j] = dstate * g[3 * u + j];
        }
        multiply_by_slope(o.activation, active, through, u);
        for (int64_t j = 0; j < u; ++j) {
          dcell[j] += through[j];
          d[j] = dcell[j] * g[2 * u + j];
          d[u + j] = dcell[j] * before[j];
          d[2 * u + j] = dcell[j] * g[j];
          dcell[j] *= g[u + j];
        }
        multiply_by_slope(o.recurrent_activation, g, d, 2 * u);
        multiply_by_slope(o.activation, g + 2 * u, d + 2 * u, u);
        multiply_by_slope(o.recurrent_activation, g + 3 * u, d + 3 * u, u);
      }
      if (k == 0) break;
      multiply_rows({to + s.row(first, k) * width, rows, s.steps * width},
                    width, panels.f32().data(), u, {.out = dh});
    }
  });
  return dx;
}

}  // namespace

Variable lstm(const Variable& x, const Variable& kernel,
              const RecurrentOptions& options) {
  const SequenceSizes s =
      sequence_sizes("lstm", x.shape(), kernel.shape(), 4, options.backwards);
  const Tensor& weight = kernel.value();
  const Tensor panels = pack_columns(weight, 0, s.width());
  const Shape shape = x.shape().with(-1, s.units);
  Variable traced = inference::offer([&] {
    return inference::TracedOp{
        .op = "lstm",
        .inputs = {x},
        .shape = shape,
        .forward = [s, options, panels](std::span<const Tensor> in, Tensor& y) {
          run_lstm(s.with_samples(y.shape()[0]), options, panels, in[0], y,
                   nullptr);
        }};
  });
  if (traced) return traced;
  Tensor y(shape);
  if (!grad_enabled() || !(x.requires_grad() || kernel.requires_grad())) {
    run_lstm(s, options, panels, x.value(), y, nullptr);
    return y;
  }
  LstmSteps saved{Tensor(x.shape()), Tensor(shape)};
  run_lstm(s, options, panels, x.value(), y, &saved);
  return record(
      "lstm", {x, kernel}, y, {weight, y, saved.gates, saved.cells},
      [=](const Tensor& dy) {
        const Tensor dx = lstm_gradient(s, options, weight, saved, dy);
        return std::vector{dx, product_of_rows(states_before(y, s), dx)};
      });
}

}  // namespace octet
