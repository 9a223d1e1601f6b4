#include <fmt/format.h>

#include <octet/runtime/error.h>
#include <octet/runtime/ops/recurrent.h>

#include "inference/trace.h"
#include "kernels/kernels.h"
#include "matrices.h"
#include "recurrent_cells.h"
#include "tensor/arena.h"

namespace octet {
namespace {

struct GruCell {
  SequenceSizes s;
  RecurrentOptions o;
  Tensor bias;  // [3*units], or empty
  // Packed columns of the kernel: all gates with reset_after, else z and r; the
  // candidate g separately.
  Tensor panels, candidate_panels;
};

// Values of all steps for the gradient.
struct GruSteps {
  Tensor gates;  // [n,t,3*units]: z, r, g after their functions
  Tensor inner;  // [n,t,units]: ug with reset_after, else r * h
};

GruCell gru_cell(const SequenceSizes& s, const RecurrentOptions& o,
                 const Tensor& kernel, const Tensor& bias) {
  const int64_t gates = o.reset_after ? 3 : 2;
  return {
      s, o, bias, pack_columns(kernel, 0, gates * s.units),
      o.reset_after ? Tensor() : pack_columns(kernel, 2 * s.units, s.units)};
}

void run_gru(const GruCell& cell, const SequenceSizes& s, const Tensor& x,
             const StepInputs& more, Tensor& y, GruSteps* saved) {
  const RecurrentOptions& o = cell.o;
  const int64_t u = s.units;
  const int64_t width = s.width();
  const int64_t from_state = o.reset_after ? width : 2 * u;
  const float* from = x.f32().data();
  const float* bias = cell.bias.empty() ? nullptr : cell.bias.f32().data();
  float* to = y.f32().data();
  float* gates = saved == nullptr ? nullptr : saved->gates.f32().data();
  float* inner = saved == nullptr ? nullptr : saved->inner.f32().data();
  for_sample_blocks(s.n, [&](int64_t first, int64_t last) {
    const int64_t rows = last - first;
    float* z = arena::scratch(0, rows * width);
    float* h = arena::scratch(1, rows * u);
    float* reset = arena::scratch(2, rows * u);  // r * h
    std::fill_n(z, rows * width, 0.0f);
    start_state(more.state, first, rows, u, h);
    for (int64_t k = 0; k < s.steps; ++k) {
      const bool has_state = k > 0 || more.state != nullptr;
      if (has_state) {
        multiply_rows({h, rows, u}, u, cell.panels.f32().data(), from_state,
                      {.out = z, .pixel = width});
      }
      for (int64_t r = 0; r < rows; ++r) {
        const int64_t at = s.row(first + r, k);
        const float* const in = from + at * width;
        float* const g = z + r * width;
        if (bias != nullptr) kernels::table().accumulate(g, bias, width);
        kernels::table().accumulate(g, in, 2 * u);
        apply(o.recurrent_activation, g, 2 * u);
        if (o.reset_after) {
          if (saved != nullptr) std::copy_n(g + 2 * u, u, inner + at * u);
          for (int64_t j = 0; j < u; ++j) {
            g[2 * u + j] = in[2 * u + j] + g[u + j] * g[2 * u + j];
          }
        } else {
          for (int64_t j = 0; j < u; ++j) {
            reset[r * u + j] = g[u + j] * h[r * u + j];
          }
          if (saved != nullptr) std::copy_n(reset + r * u, u, inner + at * u);
        }
      }
      if (!o.reset_after && has_state) {
        multiply_rows({reset, rows, u}, u, cell.candidate_panels.f32().data(),
                      u, {.out = z + 2 * u, .pixel = width});
      }
      for (int64_t r = 0; r < rows; ++r) {
        const int64_t at = s.row(first + r, k);
        float* const g = z + r * width;
        float* const state = h + r * u;
        if (more.counts(at)) {
          if (!o.reset_after) {
            kernels::table().accumulate(g + 2 * u, from + at * width + 2 * u,
                                        u);
          }
          apply(o.activation, g + 2 * u, u);
          for (int64_t j = 0; j < u; ++j) {
            state[j] = g[j] * state[j] + (1 - g[j]) * g[2 * u + j];
          }
        }
        std::copy_n(state, u, to + at * u);
        if (saved != nullptr) std::copy_n(g, width, gates + at * width);
      }
    }
  });
}

// Gradients with respect to x, to the products of the states and, if given, to
// the initial state.
struct GruGradients {
  Tensor dx;
  Tensor du;  // [n,t,3*units]; with reset_after only
  Tensor dstate;
};

GruGradients gru_gradients(const SequenceSizes& s, const RecurrentOptions& o,
                           const Tensor& kernel, const Tensor& y,
                           const GruSteps& saved, const StepInputs& more,
                           const Tensor& dy) {
  const int64_t u = s.units;
  const int64_t width = s.width();
  const bool after = o.reset_after;
  const int64_t from_state = after ? width : 2 * u;
  const Tensor panels = pack_transposed_columns(kernel, 0, from_state);
  const Tensor candidate =
      after ? Tensor() : pack_transposed_columns(kernel, 2 * u, u);
  Tensor dx(saved.gates.shape());
  Tensor du = after ? Tensor(saved.gates.shape()) : Tensor();
  const float* gates = saved.gates.f32().data();
  const float* inner = saved.inner.f32().data();
  const float* states = y.f32().data();
  const float* given = dy.f32().data();
  float* to = dx.f32().data();
  float* to_state = after ? du.f32().data() : to;
  const bool initial = more.state != nullptr;
  Tensor dinitial = initial ? Tensor(Shape{s.n, u}) : Tensor();
  const Tensor zeros = Tensor::zeros({u});
  for_sample_blocks(s.n, [&](int64_t first, int64_t last) {
    const int64_t rows = last - first;
    float* dh = arena::scratch(0, rows * u);
    float* next = arena::scratch(1, rows * u);    // through the kernel
    float* dreset = arena::scratch(2, rows * u);  // of r * h
    std::fill_n(dh, rows * u, 0.0f);
    for (int64_t k = s.steps - 1; k >= 0; --k) {
      const auto state_before = [&](int64_t r) {
        if (k > 0) return states + s.row(first + r, k - 1) * u;
        return initial ? more.state + (first + r) * u : zeros.f32().data();
      };
      for (int64_t r = 0; r < rows; ++r) {
        const int64_t at = s.row(first + r, k);
        const float* const g = gates + at * width;
        const float* const h = state_before(r);
        float* const d = to + at * width;
        float* const dstate = dh + r * u;
        if (!more.counts(at)) {
          kernels::table().accumulate(dstate, given + at * u, u);
          std::fill_n(d, width, 0.0f);
          continue;
        }
        for (int64_t j = 0; j < u; ++j) {
          const float all = given[at * u + j] + dstate[j];
          d[j] = all * (h[j] - g[2 * u + j]);
          d[2 * u + j] = all * (1 - g[j]);
          dstate[j] = all * g[j];
        }
        multiply_by_slope(o.recurrent_activation, g, d, u);
        multiply_by_slope(o.activation, g + 2 * u, d + 2 * u, u);
      }
      if (!after) {
        multiply_rows(
            {to + s.row(first, k) * width + 2 * u, rows, s.steps * width}, u,
            candidate.f32().data(), u, {.out = dreset});
      }
      for (int64_t r = 0; r < rows; ++r) {
        const int64_t at = s.row(first + r, k);
        const float* const g = gates + at * width;
        const float* const h = state_before(r);
        float* const d = to + at * width;
        if (!more.counts(at)) {
          if (after) std::fill_n(to_state + at * width, width, 0.0f);
          continue;
        }
        for (int64_t j = 0; j < u; ++j) {
          if (after) {
            d[u + j] = d[2 * u + j] * inner[at * u + j];
          } else {
            d[u + j] = dreset[r * u + j] * h[j];
            dh[r * u + j] += dreset[r * u + j] * g[u + j];
          }
        }
        multiply_by_slope(o.recurrent_activation, g + u, d + u, u);
        if (!after) continue;
        float* const p = to_state + at * width;
        std::copy_n(d, 2 * u, p);
        for (int64_t j = 0; j < u; ++j) {
          p[2 * u + j] = d[2 * u + j] * g[u + j];
        }
      }
      if (k == 0 && !initial) break;
      multiply_rows({to_state + s.row(first, k) * width, rows, s.steps * width},
                    from_state, panels.f32().data(), u, {.out = next});
      kernels::table().accumulate(dh, next, rows * u);
    }
    if (!initial) return;
    std::copy_n(dh, rows * u, dinitial.f32().data() + first * u);
  });
  return {dx, du, dinitial};
}

// The states multiply the columns of z and r, and r * h those of g.
Tensor gru_kernel_gradient(const SequenceSizes& s, const Tensor& y,
                           const GruSteps& saved, const float* initial,
                           const GruGradients& g) {
  const Tensor before = states_before(y, s, initial);
  if (!g.du.empty()) return product_of_rows(before, g.du);
  Tensor result = product_of_rows(before, g.dx);
  const Tensor candidate = product_of_rows(saved.inner, g.dx);
  const int64_t u = s.units;
  for (int64_t row = 0; row < u; ++row) {
    const int64_t at = row * s.width() + 2 * u;
    std::copy_n(candidate.f32().data() + at, u, result.f32().data() + at);
  }
  return result;
}

}  // namespace

Variable gru(const Variable& x, const Variable& kernel, const Variable& bias,
             const RecurrentOptions& options, const RecurrentInputs& more) {
  const SequenceSizes s =
      sequence_sizes("gru", x.shape(), kernel.shape(), 3, options.backwards);
  check_inputs("gru", s, more);
  if (bias && bias.shape() != Shape{s.width()}) {
    throw ShapeError(
        "shape_mismatch", "gru",
        fmt::format("the bias must have shape {}, got {}",
                    Shape{s.width()}.to_string(), bias.shape().to_string()));
  }
  if (bias && !options.reset_after) {
    throw ValueError("invalid_value", "gru",
                     "the bias must be empty without reset_after");
  }
  const Tensor& weight = kernel.value();
  const GruCell cell =
      gru_cell(s, options, weight, bias ? bias.value() : Tensor());
  const Shape shape = x.shape().with(-1, s.units);
  Variable traced = inference::offer([&] {
    GruCell own = cell;
    if (bias) own.bias = own.bias.clone();
    return inference::TracedOp{
        .op = "gru",
        .inputs = with_inputs(x, more),
        .shape = shape,
        .forward = [own, given = given_inputs(more)](std::span<const Tensor> in,
                                                     Tensor& y) {
          run_gru(own, own.s.with_samples(y.shape()[0]), in[0],
                  values_of(given, in), y, nullptr);
        }};
  });
  if (traced) return traced;
  Tensor y(shape);
  const bool needs_gradient = x.requires_grad() || kernel.requires_grad() ||
                              (bias && bias.requires_grad()) ||
                              (more.state && more.state.requires_grad());
  if (!grad_enabled() || !needs_gradient) {
    run_gru(cell, s, x.value(), values_of(more), y, nullptr);
    return y;
  }
  GruSteps saved{Tensor(x.shape()), Tensor(shape)};
  run_gru(cell, s, x.value(), values_of(more), y, &saved);
  return record("gru", {x, kernel, bias, more.state}, y,
                {weight, y, saved.gates, saved.inner},
                [=, has_bias = static_cast<bool>(bias)](const Tensor& dy) {
                  const StepInputs values = values_of(more);
                  const GruGradients g =
                      gru_gradients(s, options, weight, y, saved, values, dy);
                  return std::vector{
                      g.dx, gru_kernel_gradient(s, y, saved, values.state, g),
                      has_bias ? sum_of_rows(g.du) : Tensor(), g.dstate};
                });
}

}  // namespace octet
