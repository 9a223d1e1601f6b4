#include <algorithm>
#include <cmath>

#include "reference.h"

namespace octet::reference {
namespace {

double cell(CellFunction f, double x) {
  switch (f) {
    case CellFunction::linear:
      return x;
    case CellFunction::relu:
      return std::max(x, 0.0);
    case CellFunction::sigmoid:
      return 1 / (1 + std::exp(-x));
    case CellFunction::tanh:
      return std::tanh(x);
    case CellFunction::hard_sigmoid:
      return std::clamp(x / 6 + 0.5, 0.0, 1.0);
    case CellFunction::hard_sigmoid_v2:
      return std::clamp(0.2 * x + 0.5, 0.0, 1.0);
  }
  return 0;
}

// One step of one sample: the state h, and the state c of an LSTM, change.
using Step = std::function<void(const double* x, std::vector<double>& h,
                                std::vector<double>& c)>;

Array run(const Array& x, int64_t units, const RecurrentOptions& o,
          const SequenceInputs& more, const Step& step) {
  const int64_t n = x.shape[0], steps = x.shape[1], width = x.shape[2];
  const int64_t out = o.return_cell ? 2 * units : units;
  Array y({n, steps, out});
  const auto start = [&](const Array* from, int64_t i) {
    std::vector<double> values(static_cast<size_t>(units));
    for (int64_t j = 0; from != nullptr && j < units; ++j) {
      values[static_cast<size_t>(j)] = (*from)[i * units + j];
    }
    return values;
  };
  for (int64_t i = 0; i < n; ++i) {
    std::vector<double> h = start(more.state, i), c = start(more.cell, i);
    for (int64_t k = 0; k < steps; ++k) {
      const int64_t row = i * steps + (o.backwards ? steps - 1 - k : k);
      if (more.mask.empty() || more.mask[static_cast<size_t>(row)] != 0) {
        step(x.values.data() + row * width, h, c);
      }
      for (int64_t j = 0; j < units; ++j) {
        const auto at = static_cast<size_t>(j);
        y[row * out + j] = h[at];
        if (o.return_cell) y[row * out + units + j] = c[at];
      }
    }
  }
  return y;
}

// (h kernel)[column].
double product(const std::vector<double>& h, const Array& kernel,
               int64_t column) {
  double sum = 0;
  for (size_t j = 0; j < h.size(); ++j) {
    sum += h[j] * kernel[static_cast<int64_t>(j) * kernel.shape[1] + column];
  }
  return sum;
}

}  // namespace

Array lstm(const Array& x, const Array& kernel, const RecurrentOptions& o,
           const SequenceInputs& more) {
  const int64_t units = kernel.shape[0];
  return run(x, units, o, more, [&](const double* in, auto& h, auto& c) {
    const std::vector<double> before = h;
    const auto gate = [&](int64_t g, int64_t j, CellFunction f) {
      const int64_t at = g * units + j;
      return cell(f, in[at] + product(before, kernel, at));
    };
    for (int64_t j = 0; j < units; ++j) {
      const auto s = o.recurrent_activation;
      double& state = c[static_cast<size_t>(j)];
      state = gate(1, j, s) * state + gate(0, j, s) * gate(2, j, o.activation);
      h[static_cast<size_t>(j)] = gate(3, j, s) * cell(o.activation, state);
    }
  });
}

Array gru(const Array& x, const Array& kernel, const Array* bias,
          const RecurrentOptions& o, const SequenceInputs& more) {
  const int64_t units = kernel.shape[0];
  return run(x, units, o, more, [&](const double* in, auto& h, auto&) {
    const std::vector<double> before = h;
    const auto inner = [&](const std::vector<double>& state, int64_t g,
                           int64_t j) {
      const int64_t at = g * units + j;
      return product(state, kernel, at) + (bias == nullptr ? 0 : (*bias)[at]);
    };
    std::vector<double> z = h, r = h, reset = h;
    for (int64_t j = 0; j < units; ++j) {
      const auto i = static_cast<size_t>(j);
      z[i] = cell(o.recurrent_activation, in[j] + inner(before, 0, j));
      r[i] = cell(o.recurrent_activation, in[units + j] + inner(before, 1, j));
      reset[i] = r[i] * before[i];
    }
    for (int64_t j = 0; j < units; ++j) {
      const auto i = static_cast<size_t>(j);
      const double state =
          o.reset_after ? r[i] * inner(before, 2, j) : inner(reset, 2, j);
      const double g = cell(o.activation, in[2 * units + j] + state);
      h[i] = z[i] * before[i] + (1 - z[i]) * g;
    }
  });
}

Array simple_rnn(const Array& x, const Array& kernel, const RecurrentOptions& o,
                 const SequenceInputs& more) {
  return run(
      x, kernel.shape[0], o, more, [&](const double* in, auto& h, auto&) {
        const std::vector<double> before = h;
        for (size_t j = 0; j < h.size(); ++j) {
          const auto at = static_cast<int64_t>(j);
          h[j] = cell(o.activation, in[at] + product(before, kernel, at));
        }
      });
}

}  // namespace octet::reference
