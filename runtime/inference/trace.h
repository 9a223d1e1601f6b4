// Trace of a forward pass. While a trace is active in a thread, ops on traced
// Variables append a typed node instead of computing: their outputs have shapes
// and undefined values. passes.h compiles a trace into a plan. Not thread-safe.
//
// An op takes part by offering itself before it computes (ops/max_pool2d.cpp):
//
//   if (inference::Trace* trace = inference::active_trace()) {
//     const Variable y = trace->append({.op = "max_pool2d",
//                                       .inputs = {x},
//                                       .shape = shape,
//                                       .attributes = geometry,
//                                       .forward = pool_all});
//     if (y) return y;
//   }
//
// `forward` computes any number of samples. This suffices; fusion with other
// ops takes a row in op_table.cpp.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <variant>
#include <vector>

#include <octet/runtime/program.h>

#include "../ops/weights.h"

namespace octet::inference {

/// Computes an op for any number of samples into `y`, of the op's shape.
using Forward = std::function<void(std::span<const Tensor> inputs, Tensor& y)>;

/// A linear op: y = x * weight.
struct LinearCall {
  std::shared_ptr<const LinearKernels> kernels;
  PackedWeight weight;
  Tensor rescale;  // factors of integer sums
  autograd::GemmType factor;
  int64_t multiply_adds = 0;
};

/// A call of a layer with ops that are not traced.
struct LayerCall {
  Program::Function function;
  bool affine = false;  // the result is an affine expression of the output
};

/// What ops compute, as far as fusion uses it.
using Attributes =
    std::variant<std::monostate, autograd::Expression, LinearCall,
                 kernels::Activation, kernels::MaxPool, Pads, LayerCall>;

/// An op that offers itself to a trace.
struct TracedOp {
  std::string_view op;
  std::vector<Variable> inputs;
  Shape shape;  // of the output, for a single sample
  Attributes attributes = {};
  Forward forward = {};
  QuantParams qparams = {};  // of the output, if it remains quantized
  bool nonnegative = false;
};

/// A traced op. Values are identified by Variable::id().
struct TraceNode {
  std::string layer;
  std::string op;
  std::vector<uint64_t> inputs;
  Attributes attributes;
  Forward forward;
  Shape shape;  // [1, ...]
  QuantParams qparams;
  uint64_t id;  // of the output

  /// The deferred expression, or null.
  const autograd::Expression* expression() const {
    return std::get_if<autograd::Expression>(&attributes);
  }
};

class Trace {
 public:
  /// Declares an input [1, ...] of the program.
  Variable input(const Shape& shape);
  /// Traces the ops of `function`. If it contains others, the layer becomes a
  /// single node, which calls the function that `lasting` returns.
  /// Throws: UnsupportedError if the first axis of the output is not the batch,
  /// or if the function reads values that it traces.
  Variable call(const std::string& layer, std::span<const Variable> inputs,
                const Program::Function& function,
                const std::function<Program::Function()>& lasting);

  /// Appends an op. Returns an empty Variable if an input is not traced: the
  /// caller must compute the op.
  Variable append(TracedOp op);
  /// Appends an expression whose terms are all traced. Returns whether it did.
  bool append(const autograd::Node& node, const autograd::Expression& e);
  bool contains(uint64_t id) const { return places_.contains(id); }
  bool contains(const autograd::Expression& e) const;
  /// Notes that the current layer inspects a value of the trace.
  void note_read(uint64_t id) { reads_ |= contains(id); }

  /// In order of computation.
  const std::vector<TraceNode>& nodes() const { return nodes_; }
  const TraceNode& node(uint64_t id) const { return nodes_[places_.at(id)]; }
  std::vector<uint64_t> inputs, outputs;
  /// Removes nodes for which `unused` is set.
  void remove(const std::vector<bool>& unused);
  /// Returns a line per node.
  std::string to_string() const;

 private:
  void add(TraceNode node);
  Variable append_layer(std::span<const Variable> inputs, const Variable& y,
                        Program::Function function);

  std::vector<TraceNode> nodes_;
  std::unordered_map<uint64_t, size_t> places_;  // of nodes, by id
  std::string layer_;                            // current call
  bool reads_ = false;  // whether it inspected a traced value
};

/// Returns the trace of this thread, or null.
Trace* active_trace();

/// Makes a trace the active one of this thread, for the guard's lifetime.
class TraceGuard {
 public:
  explicit TraceGuard(Trace& trace);
  ~TraceGuard();
  TraceGuard(const TraceGuard&) = delete;
  TraceGuard& operator=(const TraceGuard&) = delete;

 private:
  Trace* before_;
};

}  // namespace octet::inference
