// Trace of a forward pass. While a trace is active in a thread, ops on traced
// Variables append a typed node instead of computing: their outputs have shapes
// and undefined values. passes.h compiles a trace into a plan. Not thread-safe.
//
// An op calls offer() before it computes (ops/max_pool2d.cpp):
//
//   const Variable traced = inference::offer([&] {
//     return inference::TracedOp{.op = "max_pool2d",
//                                .inputs = {x},
//                                .shape = shape,
//                                .attributes = geometry,
//                                .forward = pool_all};
//   });
//   if (traced) return traced;
//
// Ops whose inputs are all constant are computed while tracing.
// `forward` computes any number of samples into a planned buffer. Ops without a
// row in op_table.cpp run it; those with one can be fused with other ops.
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

#include <octet/runtime/ops.h>
#include <octet/runtime/program.h>

#include "ops/weights.h"

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
  // The unpacked weight, and its scales if it is quantized; only while a
  // ProgramRecorder exists.
  Tensor multiplied = {}, weight_scale = {};
};

/// A call of a layer with ops that are not traced.
struct LayerCall {
  Program::Function function;
  bool affine = false;  // the result is an affine expression of the output
};

/// A product of two values.
struct MatrixProduct {
  MatmulOptions options;
  bool quantized;  // of quantized values
};
/// Axis k of a transpose's output is axis `axes[k]` of its input.
struct AxisOrder {
  std::vector<int> axes;
};
struct SoftmaxAxis {
  int axis;
};
/// scale * x + shift.
struct ScaleShift {
  float scale, shift;
};

/// Contiguous channels of a value.
struct ChannelSlice {
  int64_t first;
};

/// Copies of pixels: the source of each output row and column.
struct NearestPixels {
  std::vector<int64_t> rows, cols;
};

/// Means of the pixels of an image in each window.
struct AveragePool {
  int64_t kh, kw, stride_h, stride_w, top, left;
};
/// Sums over the pixels of an image, divided.
struct ImageSum {
  double divisor;
};

/// Attributes of an op that fusion or code generation needs.
using Attributes =
    std::variant<std::monostate, autograd::Expression, LinearCall,
                 kernels::Activation, kernels::MaxPool, NearestPixels, Pads,
                 LayerCall, MatrixProduct, AxisOrder, SoftmaxAxis, ScaleShift,
                 ChannelSlice, AveragePool, ImageSum,
                 Tensor>;  // of a constant

/// An operand of an op without its values.
struct Operand {
  QuantParams qparams;
  bool nonnegative;

  explicit Operand(const autograd::Expression& e)
      : qparams(e.qparams), nonnegative(autograd::nonnegative(e)) {}
  /// The operand with values x.
  autograd::Expression of(const Tensor& x) const;
};

/// An op that offers itself to a trace. It must treat samples independently.
struct TracedOp {
  std::string_view op;
  std::vector<Variable> inputs;  // traced ones and constants
  Shape shape;                   // of the output, for a single sample
  Attributes attributes = {};
  Forward forward = {};
  QuantParams qparams = {};  // of the output, if it remains quantized
  bool nonnegative = false;
  /// Whether `forward` broadcasts constants of one sample, or without a batch
  /// axis, to the batch of the other inputs.
  bool broadcasts = false;
  /// Whether the op combines samples; such ops are not traced.
  bool across_samples = false;
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
  bool broadcasts = false;
  uint64_t id;  // of the output

  /// The deferred expression, or null.
  const autograd::Expression* expression() const {
    return std::get_if<autograd::Expression>(&attributes);
  }
  /// The value of a constant, or null.
  const Tensor* constant() const { return std::get_if<Tensor>(&attributes); }
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

  /// Appends an op of traced inputs and constants. Returns an empty Variable if
  /// it cannot: the caller must compute the op.
  Variable append(TracedOp op);
  /// Appends an expression of traced terms. Returns whether it did.
  bool append(const autograd::Node& node, const autograd::Expression& e);
  bool contains(uint64_t id) const { return places_.contains(id); }
  /// Whether a value depends on inputs of the program.
  bool is_traced(uint64_t id) const {
    return contains(id) && node(id).constant() == nullptr;
  }
  /// Whether a term is traced.
  bool is_traced(const autograd::Expression& e) const;
  /// Returns x for use beside traced operands: as a constant, if it is not
  /// traced and depends on no traced value.
  Variable constant(const Variable& x);
  /// Notes that a layer inspects a value, if it is traced.
  void note_read(uint64_t id) { reads_ |= is_traced(id); }
  /// Notes that an op computes with a value, if it is traced.
  void note_use(uint64_t id) { uses_ |= is_traced(id); }
  void note_use(const autograd::Expression& e) { uses_ |= is_traced(e); }

  /// In order of computation.
  const std::vector<TraceNode>& nodes() const { return nodes_; }
  const TraceNode& node(uint64_t id) const { return nodes_[places_.at(id)]; }
  std::vector<uint64_t> inputs, outputs;
  /// Replaces the node that computes the same id. Its inputs must precede it.
  void replace(TraceNode node) {
    nodes_[places_.at(node.id)] = std::move(node);
  }
  /// Removes nodes for which `unused` is set.
  void remove(const std::vector<bool>& unused);
  /// Returns a line per node.
  std::string to_string() const;

 private:
  void add(TraceNode node);
  bool admit(TracedOp& op);
  bool is_constant(const Variable& x) const;
  Variable append_layer(std::span<const Variable> inputs, const Variable& y,
                        Program::Function function);

  std::vector<TraceNode> nodes_;
  std::unordered_map<uint64_t, size_t> places_;  // of nodes, by id
  std::string layer_;                            // current call
  uint64_t first_id_ = 0;                        // of Variables that it creates
  bool reads_ = false;  // whether the layer inspected a traced value
  bool uses_ = false;   // whether an untraced op computed with one
};

/// Returns the trace of this thread, or null.
Trace* active_trace();

/// Appends the op that `describe` returns to the active trace. Returns an empty
/// Variable if there is none, or if the op must be computed.
template <class Describe>
Variable offer(const Describe& describe) {
  Trace* const trace = active_trace();
  return trace == nullptr ? Variable() : trace->append(describe());
}

/// Whether x is traced by the active trace.
inline bool is_traced(const Variable& x) {
  const Trace* const trace = active_trace();
  return trace != nullptr && trace->is_traced(x.id());
}

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
