// Nodes of the tape, deferred gradients, and the engine that walks them.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include <octet/runtime/variable.h>

#include "expression.h"

namespace octet::autograd {

/// A gradient that has been delivered to a node, perhaps not yet computed.
struct Gradient {
  /// A tensor, or a*g + b + a2*z (through a batch normalization).
  Expression value;
  /// [groups][3][c]: sums of g, g*t1, g*t2 over the receiver's expression,
  /// taken by the epilogue that produced g; empty if nobody did.
  Tensor sums;
  /// [c]: sums of the gradient itself over each channel, where whoever deferred
  /// it knows them; else empty.
  std::vector<double> totals;
  /// Which t of those sums is the receiver's: 1 or 2.
  int slot = 1;
  /// The receiver's own mask is applied already. Not the same as having sums:
  /// those belong to one receiver only.
  bool finished = false;
};

/// A plain gradient. `g` may be empty: zero.
Gradient plain_gradient(const Tensor& g);

/// What a backward pass brings to a node.
struct Arrivals {
  std::vector<Gradient> gradients;
  int64_t pending = 0;  // contributions to come
};

class Engine;

struct Node : std::enable_shared_from_this<Node> {
  Node(std::string_view op, const Shape& shape);
  virtual ~Node();
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  /// Appends an input and, where recording is on, takes part in gradients if
  /// the input does. Without recording nothing is kept.
  void depend_on(const NodePtr& input);

  /// The value if it has to be computed from other nodes' values.
  virtual Tensor compute();
  virtual const Expression* expression() const { return nullptr; }
  /// The grid, per tensor, that the value is on, or null.
  virtual const Grid* value_grid() const {
    const Expression* e = expression();
    return e == nullptr || e->grid.empty() ? nullptr : &e->grid;
  }
  /// The value, computed if need be, as a term that passes its gradient on to
  /// this node.
  virtual Term term();
  /// Takes what was delivered, and delivers to the inputs.
  virtual void backward(Engine& engine);
  /// Drops what only backward needs, and pointers to inputs.
  virtual void release() {}
  /// Counts the Variables of this node. When the last of them goes, only the
  /// tape holds the node on, which does not read its value: rules keep the
  /// tensors that they read themselves.
  void hold() { ++variables_; }
  /// That no number of the value is negative, until somebody writes it.
  void say_nonnegative() { nonnegative_at_ = value.writes(); }
  bool nonnegative() const { return nonnegative_at_ == value.writes(); }
  void let_go();

  const uint64_t id;
  std::string op;
  Shape shape;
  bool needs_grad = false;
  bool released = false;
  std::vector<NodePtr> inputs;  // those that need a gradient
  Arrivals arrivals;  // during backward; of a leaf the engine has them
  Tensor value;
  std::weak_ptr<Node> quantized;  // what fake_quantize() made of it last

 private:
  std::atomic<int> variables_ = 0;
  std::optional<uint64_t> nonnegative_at_;
};

/// What a linear op multiplies.
enum class Factor {
  values,
  float_codes,  ///< integers, as floats
  codes,        ///< integers, in words (kernels::CodeWord)
};

/// A parameter or constant. Under no-grad the packed forms of a weight are
/// kept here until the value changes; one for each table and layout.
struct Leaf final : Node {
  explicit Leaf(Tensor v);
  void backward(Engine& engine) override;

  struct Packed {
    const void* table;  // of kernels: the layout depends on the vector width
    uint64_t writes;    // of the value that was packed
    Factor factor;
    std::vector<int64_t> layout;
    const void* code_table;  // of the codes that these are multiplied with
    int zero_byte;           // and their byte of code 0
    Grid grid;               // or an empty one
    std::vector<Tensor> panels;
    Tensor values;  // if they are what was packed
  };
  void forget_packed();

  Tensor grad;
  std::mutex mutex;
  std::vector<Packed> packed;
};

/// Holds a deferred expression.
struct ExpressionNode final : Node {
  ExpressionNode(std::string_view op, Expression e);
  Tensor compute() override;
  const Expression* expression() const override { return &e; }
  void backward(Engine& engine) override;
  void release() override;

  Expression e;
};

/// An ordinary op with a pure gradient rule.
struct FunctionNode final : Node {
  FunctionNode(std::string_view op, const Shape& shape, Vjp rule);
  void backward(Engine& engine) override;
  void release() override;

  Vjp vjp;
  std::vector<Kept> kept;        // what it reads
  std::vector<Node*> arguments;  // all inputs; null where none is needed
};

/// Where the producer of a gradient writes it: a plain store, or, for the
/// last contributor to an expression, its fused epilogue.
struct GradientSink {
  Tensor out;
  Tensor sums;                 // [groups][3][c], or empty
  float* to = nullptr;         // of `out`
  bool fused = false;          // with the mask
  kernels::GradientMask mask;  // of the whole output, sums of the first group
  std::vector<Tensor> read;    // what the mask points into

  /// Sets `e` (and `m`, which must outlive it) for the chunk of the output
  /// that starts `offset` floats in and sums into `group`.
  void epilogue(int64_t offset, int64_t group, kernels::Epilogue& e,
                kernels::GradientMask& m) const;
  /// Delivers `pixels` pixels of g, for producers without an epilogue.
  void write(int64_t offset, int64_t group, int64_t pixels,
             const float* g) const;
};

/// `m` for what lies `offset` floats on, and for the channels from `channel`.
kernels::GradientMask shifted(kernels::GradientMask m, int64_t offset,
                              int64_t channel = 0);
/// What an epilogue does, for `pixels` pixels of g that are complete.
void finish(const kernels::Epilogue& e, const float* g, int64_t pixels,
            int64_t channels);

class Engine {
 public:
  /// What takes the gradients of leaves; without it they are added to grad.
  explicit Engine(const GradientReceiver* receiver = nullptr)
      : receiver_(receiver) {}

  /// Runs the tape below `root`, whose gradient is 1.
  void run(const NodePtr& root);

  /// One contribution, from an input edge of the caller.
  void deliver(Node* to, Gradient gradient);
  /// The other way to contribute: the caller writes into the sink. `groups`
  /// is the number of chunks that are written independently.
  GradientSink sink(Node* to, int64_t groups);
  /// Call when the sink is filled.
  void close(Node* to, const GradientSink& sink);
  /// The gradient of a leaf is complete.
  void arrive(Leaf& leaf);

  /// Takes the sum of what was delivered, as a tensor; empty if it is zero.
  static Tensor total(Node& node);
  /// The same, left deferred if there is only one.
  static Gradient collect(Node& node);
  /// `g` through the mask of `e` in a pass of its own, with sums.
  static Gradient masked(const Expression& e, const Tensor& g);

 private:
  /// Several tapes that run at once may have leaves in common.
  Arrivals& arrivals(Node& node);
  static Tensor sum(const std::vector<Gradient>& gradients);

  const GradientReceiver* receiver_;
  std::unordered_map<const Node*, Arrivals> of_leaves_;
};

bool eager();
bool float_codes();

/// The value of a variable's node, computed once.
const Tensor& value_of(Node& node);
/// The variable as an expression: its own, or its value.
Expression expression_of(const Variable& x);
/// The same, without Q and with a clip that may still change.
Expression extendable(const Variable& x);
/// A variable for an expression.
Variable wrap(std::string_view op, Expression e);

}  // namespace octet::autograd
