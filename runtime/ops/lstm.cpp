#include <octet/runtime/ops/recurrent.h>

#include "inference/trace.h"
#include "kernels/kernels.h"
#include "matrices.h"
#include "recurrent_cells.h"
#include "tensor/arena.h"

namespace octet {
namespace {

// Values of all steps; gates for the gradient only.
struct LstmSteps {
  Tensor gates = {};   // [n,t,4*units]: i, f, g, o after their functions
  Tensor cells = {};   // [n,t,units]
  Tensor states = {};  // [n,t,units]
};

// Writes states, and cells and gates unless they are empty.
void run_lstm(const SequenceSizes& s, const RecurrentOptions& o,
              const Tensor& panels, const Tensor& x, const StepInputs& more,
              LstmSteps& steps) {
  const int64_t u = s.units;
  const int64_t width = s.width();
  const float* from = x.f32().data();
  float* to = steps.states.f32().data();
  float* gates = steps.gates.empty() ? nullptr : steps.gates.f32().data();
  float* cells = steps.cells.empty() ? nullptr : steps.cells.f32().data();
  for_sample_blocks(s.n, [&](int64_t first, int64_t last) {
    const int64_t rows = last - first;
    float* z = arena::scratch(0, rows * width);
    float* h = arena::scratch(1, rows * u);
    float* c = arena::scratch(2, rows * u);
    std::fill_n(z, rows * width, 0.0f);
    start_state(more.state, first, rows, u, h);
    start_state(more.cell, first, rows, u, c);
    for (int64_t k = 0; k < s.steps; ++k) {
      if (k > 0 || more.state != nullptr) {
        multiply_rows({h, rows, u}, u, panels.f32().data(), width, {.out = z});
      }
      for (int64_t r = 0; r < rows; ++r) {
        const int64_t at = s.row(first + r, k);
        float* const g = z + r * width;
        float* const cell = c + r * u;
        float* const state = h + r * u;
        if (more.counts(at)) {
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
        }
        std::copy_n(state, u, to + at * u);
        if (cells != nullptr) std::copy_n(cell, u, cells + at * u);
        if (gates != nullptr) std::copy_n(g, width, gates + at * width);
      }
    }
  });
}

// States next to cells, [n,t,2*units].
void join_cells(const LstmSteps& steps, int64_t units, Tensor& y) {
  const float* h = steps.states.f32().data();
  const float* c = steps.cells.f32().data();
  float* to = y.f32().data();
  const int64_t rows = steps.states.size() / units;
  for (int64_t row = 0; row < rows; ++row) {
    std::copy_n(h + row * units, units, to + 2 * row * units);
    std::copy_n(c + row * units, units, to + (2 * row + 1) * units);
  }
}

void lstm_into(const SequenceSizes& s, const RecurrentOptions& o,
               const Tensor& panels, const Tensor& x, const StepInputs& more,
               Tensor& y) {
  if (!o.return_cell) {
    LstmSteps steps{.states = y};
    return run_lstm(s, o, panels, x, more, steps);
  }
  const Shape shape{s.n, s.steps, s.units};
  LstmSteps steps{.cells = Tensor(shape), .states = Tensor(shape)};
  run_lstm(s, o, panels, x, more, steps);
  join_cells(steps, s.units, y);
}

// Gradients with respect to x and, if given, the initial states.
struct LstmGradients {
  Tensor dx, dstate, dcell;
};

LstmGradients lstm_gradient(const SequenceSizes& s, const RecurrentOptions& o,
                            const Tensor& kernel, const LstmSteps& steps,
                            const StepInputs& more, const Tensor& dy) {
  const int64_t u = s.units;
  const int64_t width = s.width();
  const Tensor panels = pack_transposed_columns(kernel, 0, width);
  const bool initial = more.state != nullptr;
  const auto zeros_if = [&](bool used) {
    return used ? Tensor(Shape{s.n, u}) : Tensor();
  };
  LstmGradients result{Tensor(steps.gates.shape()), zeros_if(initial),
                       zeros_if(initial)};
  const float* gates = steps.gates.f32().data();
  const float* cells = steps.cells.f32().data();
  const float* given = dy.f32().data();
  const int64_t given_width = o.return_cell ? 2 * u : u;
  float* to = result.dx.f32().data();
  const Tensor zeros = Tensor::zeros({u});
  for_sample_blocks(s.n, [&](int64_t first, int64_t last) {
    const int64_t rows = last - first;
    float* dh = arena::scratch(0, rows * u);
    float* dc = arena::scratch(1, rows * u);
    float* active = arena::scratch(2, 2 * u);  // activation(c)
    float* through = active + u;
    float* carried = arena::scratch(3, rows * u);  // past masked steps
    std::fill_n(dh, rows * u, 0.0f);
    std::fill_n(dc, rows * u, 0.0f);
    for (int64_t k = s.steps - 1; k >= 0; --k) {
      for (int64_t r = 0; r < rows; ++r) {
        const int64_t at = s.row(first + r, k);
        const float* before = k > 0 ? cells + s.row(first + r, k - 1) * u
                              : more.cell != nullptr
                                  ? more.cell + (first + r) * u
                                  : zeros.f32().data();
        const float* const g = gates + at * width;
        float* const d = to + at * width;
        const float* const dstep = given + at * given_width;
        float* const dcell = dc + r * u;
        if (o.return_cell) kernels::table().accumulate(dcell, dstep + u, u);
        float* const carry = carried + r * u;
        std::fill_n(carry, u, 0.0f);
        if (!more.counts(at)) {
          for (int64_t j = 0; j < u; ++j) carry[j] = dstep[j] + dh[r * u + j];
          std::fill_n(d, width, 0.0f);
          continue;
        }
        std::copy_n(cells + at * u, u, active);
        apply(o.activation, active, u);
        for (int64_t j = 0; j < u; ++j) {
          const float dstate = dstep[j] + dh[r * u + j];
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
      if (k == 0 && !initial) break;
      multiply_rows({to + s.row(first, k) * width, rows, s.steps * width},
                    width, panels.f32().data(), u, {.out = dh});
      if (more.mask != nullptr) {
        kernels::table().accumulate(dh, carried, rows * u);
      }
    }
    if (!initial) return;
    std::copy_n(dh, rows * u, result.dstate.f32().data() + first * u);
    std::copy_n(dc, rows * u, result.dcell.f32().data() + first * u);
  });
  return result;
}

}  // namespace

Variable lstm(const Variable& x, const Variable& kernel,
              const RecurrentOptions& options, const RecurrentInputs& more) {
  const SequenceSizes s =
      sequence_sizes("lstm", x.shape(), kernel.shape(), 4, options.backwards);
  check_inputs("lstm", s, more);
  const Tensor& weight = kernel.value();
  const Tensor panels = pack_columns(weight, 0, s.width());
  const Shape states = x.shape().with(-1, s.units);
  const Shape shape =
      options.return_cell ? x.shape().with(-1, 2 * s.units) : states;
  Variable traced = inference::offer([&] {
    return inference::TracedOp{
        .op = "lstm",
        .inputs = with_inputs(x, more),
        .shape = shape,
        .forward = [s, options, panels, given = given_inputs(more)](
                       std::span<const Tensor> in, Tensor& y) {
          lstm_into(s.with_samples(y.shape()[0]), options, panels, in[0],
                    values_of(given, in), y);
        }};
  });
  if (traced) return traced;
  Tensor y(shape);
  const bool needs_gradient =
      x.requires_grad() || kernel.requires_grad() ||
      (more.state && (more.state.requires_grad() || more.cell.requires_grad()));
  if (!grad_enabled() || !needs_gradient) {
    lstm_into(s, options, panels, x.value(), values_of(more), y);
    return y;
  }
  LstmSteps steps{Tensor(x.shape()), Tensor(states),
                  options.return_cell ? Tensor(states) : y};
  run_lstm(s, options, panels, x.value(), values_of(more), steps);
  if (options.return_cell) join_cells(steps, s.units, y);
  return record(
      "lstm", {x, kernel, more.state, more.cell}, y,
      {weight, y, steps.gates, steps.cells, steps.states},
      [=](const Tensor& dy) {
        const StepInputs values = values_of(more);
        const LstmGradients g =
            lstm_gradient(s, options, weight, steps, values, dy);
        return std::vector{
            g.dx,
            product_of_rows(states_before(steps.states, s, values.state), g.dx),
            g.dstate, g.dcell};
      });
}

}  // namespace octet
