#include "recurrent_cells.h"

#include <utility>

#include <fmt/format.h>

#include <octet/runtime/error.h>

#include "kernels/kernels.h"
#include "matrices.h"

namespace octet {
namespace {

// f(x) = clip(slope * x + 0.5, 0, 1).
constexpr float slope_of_hard_sigmoid(CellFunction f) {
  return f == CellFunction::hard_sigmoid ? 1.0f / 6 : 0.2f;
}

Tensor pack_block(const Tensor& kernel, int64_t first, int64_t rows,
                  int64_t channels, bool transposed) {
  const auto& table = kernels::table();
  Tensor panels({table.packed_size(rows, channels)});
  const float* block = kernel.f32().data() + first;
  table.pack({.blocks = &block,
              .block_count = 1,
              .rows = rows,
              .channels = channels,
              .row = kernel.shape()[1],
              .transposed = transposed,
              .out = panels.f32().data()});
  return panels;
}

}  // namespace

SequenceSizes sequence_sizes(std::string_view op, const Shape& x,
                             const Shape& kernel, int64_t gates,
                             bool backwards) {
  const bool fits = x.rank() == 3 && kernel.rank() == 2 && kernel[0] >= 1 &&
                    kernel[1] == gates * kernel[0] && x[2] == kernel[1] &&
                    x[1] >= 1;
  if (!fits) {
    const std::string width =
        gates == 1 ? std::string("units") : fmt::format("{}*units", gates);
    throw ShapeError(
        "shape_mismatch", std::string(op),
        fmt::format("x must be [n,t,{}] with a step or more and "
                    "the kernel [units,{}], got {} and {}",
                    width, width, x.to_string(), kernel.to_string()));
  }
  return {.n = x[0],
          .steps = x[1],
          .units = kernel[0],
          .gates = gates,
          .backwards = backwards};
}

void check_inputs(std::string_view op, const SequenceSizes& s,
                  const RecurrentInputs& more) {
  const auto check = [&](const char* name, const Variable& given,
                         const Shape& shape) {
    if (!given || given.shape() == shape) return;
    throw ShapeError("shape_mismatch", std::string(op),
                     fmt::format("{} must have shape {}, got {}", name,
                                 shape.to_string(), given.shape().to_string()));
  };
  check("mask", more.mask, {s.n, s.steps});
  check("state", more.state, {s.n, s.units});
  check("cell", more.cell, {s.n, s.units});
  const bool cell_fits = s.gates == 4 ? static_cast<bool>(more.cell) ==
                                            static_cast<bool>(more.state)
                                      : !more.cell;
  if (!cell_fits) {
    throw ValueError("invalid_value", std::string(op),
                     s.gates == 4 ? "state and cell must be given together"
                                  : "cell must be empty");
  }
}

std::vector<Variable> with_inputs(const Variable& x,
                                  const RecurrentInputs& more) {
  std::vector<Variable> inputs{x};
  for (const Variable& each : {more.mask, more.state, more.cell}) {
    if (each) inputs.push_back(each);
  }
  return inputs;
}

StepInputs values_of(const RecurrentInputs& more) {
  const auto values = [](const Variable& each) -> const float* {
    if (!each) return nullptr;
    const Tensor& value = each.value();
    return value.f32().data();
  };
  return {values(more.mask), values(more.state), values(more.cell)};
}

GivenInputs given_inputs(const RecurrentInputs& more) {
  return {static_cast<bool>(more.mask), static_cast<bool>(more.state),
          static_cast<bool>(more.cell)};
}

StepInputs values_of(const GivenInputs& given, std::span<const Tensor> in) {
  std::array<const float*, 3> values{};
  size_t next = 1;
  for (size_t i = 0; i < given.size(); ++i) {
    if (given[i]) values[i] = in[next++].f32().data();
  }
  return {values[0], values[1], values[2]};
}

void start_state(const float* initial, int64_t first, int64_t rows,
                 int64_t units, float* state) {
  if (initial == nullptr) {
    std::fill_n(state, rows * units, 0.0f);
  } else {
    std::copy_n(initial + first * units, rows * units, state);
  }
}

Tensor pack_columns(const Tensor& kernel, int64_t first, int64_t count) {
  return pack_block(kernel, first, kernel.shape()[0], count, false);
}

Tensor pack_transposed_columns(const Tensor& kernel, int64_t first,
                               int64_t count) {
  return pack_block(kernel, first, count, kernel.shape()[0], true);
}

void apply(CellFunction f, float* x, int64_t n) {
  const auto call = [&](kernels::Function function) {
    kernels::table().activate({.function = function, .x = x, .out = x, .n = n});
  };
  switch (f) {
    case CellFunction::linear:
      return;
    case CellFunction::relu:  // NaN stays NaN
      for (int64_t i = 0; i < n; ++i) x[i] = x[i] < 0 ? 0.0f : x[i];
      return;
    case CellFunction::sigmoid:
      return call(kernels::Function::sigmoid);
    case CellFunction::tanh:
      return call(kernels::Function::tanh);
    case CellFunction::hard_sigmoid:
      return call(kernels::Function::hard_sigmoid);
    case CellFunction::hard_sigmoid_v2:
      for (int64_t i = 0; i < n; ++i) {
        const float y = slope_of_hard_sigmoid(f) * x[i] + 0.5f;
        x[i] = y < 0 ? 0.0f : y > 1 ? 1.0f : y;
      }
      return;
  }
}

void multiply_by_slope(CellFunction f, const float* y, float* g, int64_t n) {
  switch (f) {
    case CellFunction::linear:
      return;
    case CellFunction::relu:
      for (int64_t i = 0; i < n; ++i) g[i] = y[i] > 0 ? g[i] : 0.0f;
      return;
    case CellFunction::sigmoid:
      for (int64_t i = 0; i < n; ++i) g[i] *= y[i] * (1 - y[i]);
      return;
    case CellFunction::tanh:
      for (int64_t i = 0; i < n; ++i) g[i] *= 1 - y[i] * y[i];
      return;
    case CellFunction::hard_sigmoid:
    case CellFunction::hard_sigmoid_v2:
      for (int64_t i = 0; i < n; ++i) {
        const bool inside = y[i] > 0 && y[i] < 1;
        g[i] = inside ? g[i] * slope_of_hard_sigmoid(f) : 0.0f;
      }
      return;
  }
}

Tensor states_before(const Tensor& y, const SequenceSizes& s,
                     const float* initial) {
  Tensor states(y.shape());
  const float* from = y.f32().data();
  float* to = states.f32().data();
  for (int64_t sample = 0; sample < s.n; ++sample) {
    start_state(initial, sample, 1, s.units, to + s.row(sample, 0) * s.units);
    for (int64_t k = 1; k < s.steps; ++k) {
      std::copy_n(from + s.row(sample, k - 1) * s.units, s.units,
                  to + s.row(sample, k) * s.units);
    }
  }
  return states;
}

Tensor product_of_rows(const Tensor& a, const Tensor& b) {
  constexpr int64_t kColumns = 64;  // per task
  const int64_t depth = a.shape()[-1];
  const int64_t width = b.shape()[-1];
  const int64_t rows = a.size() / depth;
  Tensor y = Tensor::zeros({depth, width});
  float* to = y.f32().data();
  parallel_for((depth + kColumns - 1) / kColumns, [&](int64_t chunk) {
    const int64_t first = chunk * kColumns;
    multiply_columns(a.f32().data() + first, rows,
                     std::min(kColumns, depth - first), depth, b.f32().data(),
                     width, to + first * width);
  });
  return y;
}

Tensor sum_of_rows(const Tensor& x) {
  const int64_t width = x.shape()[-1];
  const int64_t rows = x.size() / width;
  const float* from = x.f32().data();
  Tensor y({width});
  for (int64_t i = 0; i < width; ++i) {
    double sum = 0;
    for (int64_t row = 0; row < rows; ++row) sum += from[row * width + i];
    y.f32()[static_cast<size_t>(i)] = static_cast<float>(sum);
  }
  return y;
}

}  // namespace octet
