// The lowered computation: values, the calls that produce them, and their
// pointwise expressions. plan.h turns it into steps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

#include <octet/runtime/program.h>

#include "trace.h"

namespace octet::inference {

/// A pointwise expression of values, an activation of it, or a product, before
/// Q. `fusable` expressions can run in the epilogue of a linear op, as
///   f(clip(Q2(clip2(a*sums + b)) + other))
struct Pointwise {
  autograd::Expression e;  // without tensors but factors, and without Q
  int first = -1;          // input values
  int second = -1;
  int after = -1;  // last call that it depends on; -1: none
  std::optional<kernels::Activation> function;
  int multiplier = -1;  // second factor of a product: [1, ..., c] per sample

  bool fusable = false;
  int sums = -1;  // sums whose epilogue could evaluate it
  Tensor a, b;
  float low2 = 0, high2 = 0;
  QuantParams qparams2;
  int other = -1;
  bool other_plain = false;

  /// Whether it is the identity of its input.
  bool plain() const { return e.plain() && expression_only(); }
  bool expression_only() const { return !function && multiplier < 0; }
};

/// Channels of a value, starting at `first`.
struct Channels {
  int of = -1;  // value, or -1
  int64_t first = 0;
};

/// A tensor, a pointwise expression, or a concatenation, quantized or not.
struct LoweredValue {
  Shape shape;         // [1, ...]
  int call = -1;       // producer; -1: an input or constant
  bool sums = false;   // raw output of a linear op
  bool codes = false;  // stored quantized by its producer
  int pointwise = -1;  // the expression that it is, or -1
  int alias = -1;      // the value that it reshapes, or -1
  QuantParams qparams;
  Tensor constant = {};
  std::vector<int> parts = {};  // values that it concatenates along channels
  Channels slice = {};  // of another value, in whose storage kernels read them
};

/// Max pooling or enlargement, possibly of quantized values.
struct Pool {
  std::variant<kernels::MaxPool, NearestPixels> kind;
  int value = -1;  // input,
  Pads pads{};     // and its zero padding
};

/// A linear op, an unfused op (`forward`), or a layer.
struct Call {
  std::string name;  // of the layer
  std::string op;
  std::optional<LinearCall> linear;
  Forward forward;
  Attributes attributes = {};  // of an unfused op
  std::optional<LayerCall> layer;
  std::optional<Pool> pool;
  std::vector<int> inputs;  // values
  Pads pads{};              // zero padding of a linear op's input
  int output = -1;
};

struct LoweredGraph {
  std::vector<LoweredValue> values;
  std::vector<Pointwise> pointwise;
  std::vector<Call> calls;
  std::vector<int> inputs, outputs;  // values

  /// Returns the last call that a value depends on; -1: none.
  int after(int value) const;
  /// Returns for each call whether its output has a consumer.
  std::vector<bool> read_calls() const;
  /// Appends to `pointwise`; returns the index.
  int add(Pointwise p);
  /// Returns the first expression of the same values and structure without a
  /// function or multiplier, or -1.
  int find(const Pointwise& p) const;
  /// Returns the identity expression of a value.
  int plain(int value);
  /// Returns the value of an expression under quantization parameters; adds it
  /// if missing.
  int evaluation(int pointwise, const Shape& shape, const QuantParams& qparams);
  /// Returns all values of an expression.
  const std::vector<int>& evaluations(int pointwise_of) const;
  /// Returns a line per call.
  std::string to_string() const;

 private:
  // Indices of `pointwise` by a hash of find()'s key, and of `values` by
  // expression, both ascending.
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
