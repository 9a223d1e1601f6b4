// What was captured of a program: which tensors there are, what computes them,
// and which pointwise expressions of them are read. plan.h makes steps of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include <octet/runtime/program.h>

#include "recorder.h"

namespace octet::inference {

/// An expression of values, a function of one, or a product, before Q, and the
/// form in which a linear op could compute it as its sums are complete:
///   f(clip(Q2(clip2(a*sums + b)) + other))
struct Pointwise {
  autograd::Expression e;  // its tensors are those of the capture; no grid
  int first = -1;          // values that it reads
  int second = -1;
  int after = -1;  // the call whose outputs it has to wait for; -1: none
  std::optional<kernels::Activation> function;
  int multiplier = -1;  // of a product: one number a channel of each sample

  bool fusable = false;
  int sums = -1;  // of the value that may be fused with
  Tensor a, b;
  float low2 = 0, high2 = 0;
  Grid grid2;
  int other = -1;
  bool other_plain = false;

  /// Whether it is the value that it reads.
  bool plain() const { return e.plain() && expression_only(); }
  bool expression_only() const { return !function && multiplier < 0; }
};

/// A tensor of the capture, or an expression on a grid or none.
struct Value {
  Shape shape;         // [1, ...]
  int call = -1;       // that computes it; -1: an input
  bool sums = false;   // of a linear call
  bool codes = false;  // a call stores it as codes
  int pointwise = -1;  // what it evaluates, or -1
  Grid grid;
};

/// The largest values of windows, which may be taken of codes.
struct Pool {
  kernels::MaxPool sizes;
  int value = -1;  // whose windows they are,
  Pads pads{};     // and zeros around it
};

/// A linear op, or a function of whole tensors.
struct Call {
  std::string name;
  std::optional<LinearCall> linear;
  Tensor rescale;  // of its codes' sums
  Program::Function function;
  std::optional<Pool> pool;
  std::vector<int> inputs;  // values
  Pads pads{};              // zeros around the input of a linear op
  bool affine = false;      // the output is what the result is an expression of
  int output = -1;
};

struct Graph {
  std::vector<Value> values;
  std::vector<Pointwise> pointwise;
  std::vector<Call> calls;
  std::vector<int> inputs, outputs;  // values

  /// The call after which a value is there; -1: at the beginning.
  int after(int value) const;
  /// Of each call, whether its output is read.
  std::vector<bool> read_calls() const;
  /// Appends to `pointwise`; returns the index.
  int add(Pointwise p);
  /// The first expression without a function or multiplier that reads the same
  /// values in the same form, or -1.
  int find(const Pointwise& p) const;
  /// The expression that is the value itself.
  int plain(int value);
  /// What an expression is on a grid; a new value if there is none.
  int evaluation(int pointwise, const Shape& shape, const Grid& grid);
  /// The values that evaluate an expression, by evaluation().
  const std::vector<int>& evaluations(int pointwise_of) const;

  struct Sizes {
    size_t calls, values, pointwise;
  };
  Sizes sizes() const {
    return {calls.size(), values.size(), pointwise.size()};
  }
  /// Removes what was appended since.
  void shrink(const Sizes& before);

 private:
  // Indices of `pointwise` by a hash of find()'s key, and of `values` by
  // expression, both ascending.
  std::vector<uint64_t> keys_;  // of each expression
  std::unordered_map<uint64_t, std::vector<int>> expressions_;
  std::unordered_map<int, std::vector<int>> evaluations_;
};

template <class T>
T& at(std::vector<T>& list, int i) {
  return list[static_cast<size_t>(i)];
}
template <class T>
const T& at(const std::vector<T>& list, int i) {
  return list[static_cast<size_t>(i)];
}

}  // namespace octet::inference
