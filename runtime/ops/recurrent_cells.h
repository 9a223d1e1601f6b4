// Parts of the recurrent ops: sizes, products with the recurrent kernel,
// functions of a cell. Blocks of samples are independent; each runs through all
// steps in one task.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include <octet/runtime/ops/recurrent.h>
#include <octet/runtime/parallel.h>
#include <octet/runtime/tensor.h>

namespace octet {

/// Sizes of x [n,steps,gates*units] and y [n,steps,units].
struct SequenceSizes {
  int64_t n = 0, steps = 0, units = 0, gates = 0;
  bool backwards = false;

  int64_t width() const { return gates * units; }
  /// Returns the position in x of step k in order of computation.
  int64_t time(int64_t k) const { return backwards ? steps - 1 - k : k; }
  /// Returns the row of [n*steps,...] of step k of a sample.
  int64_t row(int64_t sample, int64_t k) const {
    return sample * steps + time(k);
  }
  SequenceSizes with_samples(int64_t count) const {
    SequenceSizes other = *this;
    other.n = count;
    return other;
  }
};

/// Values of RecurrentInputs; null pointers for empty inputs.
struct StepInputs {
  const float* mask = nullptr;   // [n,steps]
  const float* state = nullptr;  // [n,units]
  const float* cell = nullptr;   // [n,units]

  /// Whether the step in row `row` of [n*steps,...] changes the state.
  bool counts(int64_t row) const { return mask == nullptr || mask[row] != 0; }
};

/// Checks the shapes of a recurrent op. Throws: ShapeError.
SequenceSizes sequence_sizes(std::string_view op, const Shape& x,
                             const Shape& kernel, int64_t gates,
                             bool backwards);

/// Checks the optional inputs. Throws: ShapeError, ValueError.
void check_inputs(std::string_view op, const SequenceSizes& s,
                  const RecurrentInputs& more);
/// Returns x followed by the inputs that are not empty.
std::vector<Variable> with_inputs(const Variable& x,
                                  const RecurrentInputs& more);
/// Pointers into the inputs themselves.
StepInputs values_of(const RecurrentInputs& more);
/// Whether mask, state and cell are given.
using GivenInputs = std::array<bool, 3>;
GivenInputs given_inputs(const RecurrentInputs& more);
/// Pointers into the values of with_inputs().
StepInputs values_of(const GivenInputs& given, std::span<const Tensor> in);
/// Copies rows [first, first + rows) of an initial state, or zeros.
void start_state(const float* initial, int64_t first, int64_t rows,
                 int64_t units, float* state);

/// Packs columns [first, first + count) of a recurrent kernel for products with
/// states, or their transpose for products with gradients of gates.
Tensor pack_columns(const Tensor& kernel, int64_t first, int64_t count);
Tensor pack_transposed_columns(const Tensor& kernel, int64_t first,
                               int64_t count);

/// x[i] = f(x[i]).
void apply(CellFunction f, float* x, int64_t n);
/// g[i] *= f'(x) for f(x) = y[i].
void multiply_by_slope(CellFunction f, const float* y, float* g, int64_t n);

/// Returns the states before each step, [n,steps,units]; `initial` or zeros for
/// the first.
Tensor states_before(const Tensor& y, const SequenceSizes& s,
                     const float* initial);

/// Returns a^T b for the rows of [n,t,...], each sum a single chain.
Tensor product_of_rows(const Tensor& a, const Tensor& b);
/// Returns the sums of the rows of [n,t,c].
Tensor sum_of_rows(const Tensor& x);

/// Runs body(first, last) for blocks of samples, in parallel.
template <class Body>
void for_sample_blocks(int64_t n, const Body& body) {
  constexpr int64_t kFewestSamples = 8;  // reuse panels of the kernel
  const int64_t blocks = std::clamp<int64_t>(n / kFewestSamples, 1, 16);
  parallel_for(blocks, [&](int64_t block) {
    body(n * block / blocks, n * (block + 1) / blocks);
  });
}

}  // namespace octet
