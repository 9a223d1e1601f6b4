#include <octet/runtime/ops/recurrent.h>

#include "inference/trace.h"
#include "kernels/kernels.h"
#include "matrices.h"
#include "recurrent_cells.h"
#include "tensor/arena.h"

namespace octet {
namespace {

void run_simple_rnn(const SequenceSizes& s, CellFunction f,
                    const Tensor& panels, const Tensor& x,
                    const StepInputs& more, Tensor& y) {
  const int64_t u = s.units;
  const float* from = x.f32().data();
  float* to = y.f32().data();
  for_sample_blocks(s.n, [&](int64_t first, int64_t last) {
    const int64_t rows = last - first;
    float* h = arena::scratch(0, rows * u);
    float* z = arena::scratch(1, rows * u);
    std::fill_n(z, rows * u, 0.0f);
    start_state(more.state, first, rows, u, h);
    for (int64_t k = 0; k < s.steps; ++k) {
      if (k > 0 || more.state != nullptr) {
        multiply_rows({h, rows, u}, u, panels.f32().data(), u, {.out = z});
      }
      for (int64_t r = 0; r < rows; ++r) {
        const int64_t row = s.row(first + r, k);
        const int64_t at = row * u;
        if (more.counts(row)) {
          kernels::table().accumulate(z + r * u, from + at, u);
          apply(f, z + r * u, u);
        } else {
          std::copy_n(h + r * u, u, z + r * u);
        }
        std::copy_n(z + r * u, u, to + at);
      }
      std::swap(h, z);
    }
  });
}

// Gradients with respect to x and, if given, the initial state.
struct SimpleRnnGradients {
  Tensor dx, dstate;
};

SimpleRnnGradients simple_rnn_gradient(const SequenceSizes& s, CellFunction f,
                                       const Tensor& kernel, const Tensor& y,
                                       const StepInputs& more,
                                       const Tensor& dy) {
  const int64_t u = s.units;
  const Tensor panels = pack_transposed_columns(kernel, 0, u);
  const bool initial = more.state != nullptr;
  SimpleRnnGradients result{Tensor(y.shape()),
                            initial ? Tensor(Shape{s.n, u}) : Tensor()};
  const float* states = y.f32().data();
  const float* given = dy.f32().data();
  float* to = result.dx.f32().data();
  for_sample_blocks(s.n, [&](int64_t first, int64_t last) {
    const int64_t rows = last - first;
    float* dh = arena::scratch(0, rows * u);
    float* carried = arena::scratch(1, rows * u);  // past masked steps
    std::fill_n(dh, rows * u, 0.0f);
    for (int64_t k = s.steps - 1; k >= 0; --k) {
      std::fill_n(carried, rows * u, 0.0f);
      for (int64_t r = 0; r < rows; ++r) {
        const int64_t row = s.row(first + r, k);
        const int64_t at = row * u;
        const bool counts = more.counts(row);
        float* const sum = counts ? to + at : carried + r * u;
        for (int64_t j = 0; j < u; ++j) sum[j] = given[at + j] + dh[r * u + j];
        if (counts) {
          multiply_by_slope(f, states + at, to + at, u);
        } else {
          std::fill_n(to + at, u, 0.0f);
        }
      }
      if (k == 0 && !initial) break;
      multiply_rows({to + s.row(first, k) * u, rows, s.steps * u}, u,
                    panels.f32().data(), u, {.out = dh});
      if (more.mask != nullptr) {
        kernels::table().accumulate(dh, carried, rows * u);
      }
    }
    if (!initial) return;
    std::copy_n(dh, rows * u, result.dstate.f32().data() + first * u);
  });
  return result;
}

}  // namespace

Variable simple_rnn(const Variable& x, const Variable& kernel,
                    const RecurrentOptions& options,
                    const RecurrentInputs& more) {
  const SequenceSizes s = sequence_sizes("simple_rnn", x.shape(),
                                         kernel.shape(), 1, options.backwards);
  check_inputs("simple_rnn", s, more);
  const CellFunction f = options.activation;
  const Tensor& weight = kernel.value();
  const Tensor panels = pack_columns(weight, 0, s.units);
  Variable traced = inference::offer([&] {
    return inference::TracedOp{
        .op = "simple_rnn",
        .inputs = with_inputs(x, more),
        .shape = x.shape(),
        .forward = [s, f, panels, given = given_inputs(more)](
                       std::span<const Tensor> in, Tensor& y) {
          run_simple_rnn(s.with_samples(y.shape()[0]), f, panels, in[0],
                         values_of(given, in), y);
        }};
  });
  if (traced) return traced;
  Tensor y(x.shape());
  run_simple_rnn(s, f, panels, x.value(), values_of(more), y);
  return record("simple_rnn", {x, kernel, more.state}, y, {weight, y},
                [=](const Tensor& dy) {
                  const StepInputs values = values_of(more);
                  const SimpleRnnGradients g =
                      simple_rnn_gradient(s, f, weight, y, values, dy);
                  return std::vector{
                      g.dx,
                      product_of_rows(states_before(y, s, values.state), g.dx),
                      g.dstate};
                });
}

}  // namespace octet
