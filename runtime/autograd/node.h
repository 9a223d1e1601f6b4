// Nodes of the tape, deferred gradients, and the autograd engine.
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

/// A gradient delivered to a node, possibly deferred.
struct Gradient {
  /// A tensor, or a*g + b + a2*z (through batch normalization).
  Expression value;
  /// [groups][3][c]: sums of g, g*t1, g*t2 over the receiver's expression,
  /// computed by the epilogue that produced g; empty if not computed.
  Tensor sums;
  /// [groups][c]: sums of g * slope before the mask, for a trainable scale of
  /// the receiver; empty if not computed. Without a value if nothing else needs
  /// the gradient (scale_alone()).
  Tensor slopes;
  /// [c]: sums of this gradient over each channel if known without computing
  /// it; else empty.
  std::vector<double> totals;
  /// Index of the receiver's t in those sums: 1 or 2.
  int slot = 1;
  /// Whether the receiver's mask is already applied. Independent of `sums`,
  /// which belong to a single receiver.
  bool finished = false;
};

/// A gradient without deferred factors. `g` may be empty: zero.
Gradient plain_gradient(const Tensor& g);

/// Pending gradients of a node during a backward pass.
struct PendingGradients {
  std::vector<Gradient> gradients;
  int64_t pending = 0;  // contributions still to come
};

class Engine;

struct Node : std::enable_shared_from_this<Node> {
  Node(std::string_view op, const Shape& shape);
  virtual ~Node();
  Node(const Node&) = delete;
  Node& operator=(const Node&) = delete;

  /// Appends an input if recording is on and the input needs a gradient; the
  /// node then needs a gradient too.
  void depend_on(const NodePtr& input);

  /// Computes the value of a deferred node from its inputs.
  virtual Tensor compute();
  virtual const Expression* expression() const { return nullptr; }
  /// Whether the next gradient is the only one, and only a trainable scale
  /// needs it: a quantized input of the network.
  bool scale_alone() const;
  /// Per-tensor quantization parameters of the value, or null.
  virtual const QuantParams* value_qparams() const {
    const Expression* e = expression();
    return e == nullptr || e->qparams.empty() ? nullptr : &e->qparams;
  }
  /// The value, computed if deferred, as a term with this node as target.
  virtual Term term();
  /// Consumes the pending gradients and delivers gradients to the inputs.
  virtual void backward(Engine& engine);
  /// Frees data and pointers needed only by backward().
  virtual void release() {}
  /// Counts the Variables of this node. After the last Variable only the tape
  /// owns the node; it does not need the value, since gradient functions save
  /// their own tensors.
  void add_variable() { ++variables_; }
  void remove_variable();
  /// Marks the value as nonnegative until it is written.
  void mark_nonnegative() { nonnegative_at_ = value.writes(); }
  bool nonnegative() const { return nonnegative_at_ == value.writes(); }

  const uint64_t id;
  std::string op;
  std::string layer;      // for diagnostics, set by observe()
  bool observed = false;  // by observe()
  Shape shape;
  bool needs_grad = false;
  bool released = false;
  std::vector<NodePtr> inputs;         // inputs that need a gradient
  PendingGradients pending_gradients;  // during backward; for leaves see
                                       // Engine::pending_gradients()
  Tensor value;
  std::weak_ptr<Node> quantized;  // latest fake_quantize() of this node

 private:
  std::atomic<int> variables_ = 0;
  std::optional<uint64_t> nonnegative_at_;
};

/// Operands of a matrix product.
enum class GemmType {
  values,
  float_codes,  ///< quantized values, as floats
  codes,        ///< quantized values, packed (kernels::CodeWord)
};

/// A parameter or constant. Without recording, packed weights are cached here
/// per kernel table and layout until the value changes.
struct Leaf final : Node {
  explicit Leaf(Tensor v);
  void backward(Engine& engine) override;

  struct Packed {
    const void* table;  // of kernels: determines the vector width
    uint64_t writes;    // of the value when packed
    GemmType factor;
    std::vector<int64_t> layout;
    const void* code_table;  // kernels of the activations
    int zero_byte;           // byte of quantized value 0 in activations
    QuantParams qparams;     // may be empty
    std::vector<Tensor> panels;
    Tensor values;  // the packed values, if equal to the leaf's
  };
  void forget_packed();

  Tensor grad;
  std::mutex mutex;
  std::vector<Packed> packed;
};

/// A deferred expression.
struct ExpressionNode final : Node {
  ExpressionNode(std::string_view op, Expression e);
  Tensor compute() override;
  const Expression* expression() const override { return &e; }
  void backward(Engine& engine) override;
  void release() override;

  Expression e;
};

/// An ordinary op with a pure gradient function.
struct FunctionNode final : Node {
  FunctionNode(std::string_view op, const Shape& shape, Vjp rule);
  void backward(Engine& engine) override;
  void release() override;

  Vjp vjp;
  std::vector<SavedTensor> kept;  // saved for vjp
  std::vector<Node*> arguments;   // all inputs; null without gradient
};

/// Destination of a gradient: a plain store or, for the last contributor to an
/// expression, a fused epilogue.
struct GradientSink {
  Tensor out;
  Tensor sums;                 // [groups][3][c], or empty
  Tensor slopes;               // [groups][c], or empty
  float* to = nullptr;         // data of `out`
  bool fused = false;          // whether the mask applies
  kernels::GradientMask mask;  // of the whole output; sums of group 0
  std::vector<Tensor> read;    // owners of the mask's pointers

  /// Sets `e` and `m` (which must outlive `e`) for the chunk of the output at
  /// offset `offset` (in floats), with sums in `group`.
  void epilogue(int64_t offset, int64_t group, kernels::Epilogue& e,
                kernels::GradientMask& m) const;
  /// Writes `pixels` pixels of g, for producers without an epilogue.
  void write(int64_t offset, int64_t group, int64_t pixels,
             const float* g) const;
};

/// Returns `m` at offset `offset` (in floats), for channels from `channel`.
kernels::GradientMask shifted(kernels::GradientMask m, int64_t offset,
                              int64_t channel = 0);
/// Applies an epilogue to `pixels` pixels of complete gradients g.
void finish(const kernels::Epilogue& e, const float* g, int64_t pixels,
            int64_t channels);

class Engine {
 public:
  /// `receiver` takes the gradients of leaves; null adds them to grad().
  explicit Engine(const GradientReceiver* receiver = nullptr)
      : receiver_(receiver) {}

  /// Runs the tape of `root`, whose gradient is 1.
  void run(const NodePtr& root);

  /// Delivers a contribution along an input edge of the caller.
  void deliver(Node* to, Gradient gradient);
  /// Alternative to deliver(): the caller writes to the returned sink. `groups`
  /// is the number of independently written chunks.
  GradientSink sink(Node* to, int64_t groups);
  /// Delivers a filled sink.
  void close(Node* to, const GradientSink& sink);
  /// Handles the complete gradient of a leaf.
  void arrive(Leaf& leaf);

  /// Takes the sum of the pending gradients; empty if zero.
  static Tensor total(Node& node);
  /// Like total(), but a single gradient stays deferred.
  static Gradient collect(Node& node);
  /// Applies the mask of `e` to `g` in a separate pass, with sums.
  static Gradient masked(const Expression& e, const Tensor& g);

 private:
  /// Pending gradients of a node. Leaves have theirs in the engine, as
  /// concurrent tapes may share leaves.
  PendingGradients& pending_gradients(Node& node);
  /// Handles the complete leaves that may be written by a receiver.
  void arrive_early();
  static Tensor sum(const std::vector<Gradient>& gradients);

  const GradientReceiver* receiver_;
  const Node* running_ = nullptr;  // whose backward() runs
  std::unordered_map<const Node*, PendingGradients> of_leaves_;
  std::vector<Leaf*> complete_;  // leaves that have not arrived
};

bool eager();
bool float_codes();

/// The value of a node, computed once.
const Tensor& value_of(Node& node);
/// The expression of a variable, or its value as an expression.
Expression expression_of(const Variable& x);
/// An expression of the variable without Q, whose clip may be narrowed.
Expression extendable(const Variable& x);
/// Creates a variable for an expression.
Variable wrap(std::string_view op, Expression e);

}  // namespace octet::autograd
