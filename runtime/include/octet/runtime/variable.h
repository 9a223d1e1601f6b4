// Variable: a value that records how it was computed, so that backward() can
// compute the gradient of a loss with respect to every leaf.
//
// Pointwise ops between linear ops (convolution, dense) are deferred: a
// Variable then stores an expression that the next linear op evaluates while
// loading its input. value() evaluates it on demand. See
// docs/design/expressions.md.
//
// A Variable belongs to one thread. Several threads may read leaves under
// NoGradGuard.
#pragma once

#include <cstdint>
#include <functional>
#include <iosfwd>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <octet/runtime/tensor.h>

namespace octet {

namespace autograd {
struct Node;
using NodePtr = std::shared_ptr<Node>;  ///< null for an empty Variable
}  // namespace autograd

/// Write access to the elements of a leaf:
///
///   const auto w = parameter.mutable_value();
///   w[0] += 0.5f;
///
/// Counts as a write at construction and destruction. While it exists, packed
/// weights and scales are not cached, so models may run in between. Name it
/// (`auto`) and end its scope after the last write: writes between a forward
/// pass and its backward pass, or before the value() of a deferred Variable,
/// are not detected until then.
class [[nodiscard]] WriteSpan {
 public:
  WriteSpan(WriteSpan&& other) noexcept = default;
  WriteSpan& operator=(WriteSpan&&) = delete;
  ~WriteSpan();

  /// Access to the elements, in memory order; indices are not checked.
  float& operator[](size_t i) const { return elements_[i]; }
  float* begin() const { return elements_.data(); }
  float* end() const { return elements_.data() + elements_.size(); }
  float* data() const { return elements_.data(); }
  size_t size() const { return elements_.size(); }
  bool empty() const { return elements_.empty(); }
  operator std::span<float>() const& { return elements_; }
  // Not for temporaries: their write access ends before the span is used.
  operator std::span<float>() const&& = delete;

 private:
  friend class Variable;
  explicit WriteSpan(const Tensor& value);

  Tensor value_;
  std::span<float> elements_;
};

class Variable;

/// Receives the gradient of a leaf. The tensor may be shared; do not write it.
using GradientReceiver =
    std::function<void(const Variable& leaf, const Tensor& gradient)>;

/// A handle to a leaf or to the result of an op; copies refer to the same node.
/// A default-constructed or moved-from Variable is empty: all functions but
/// operator bool and node() then throw a ValueError.
class [[nodiscard]] Variable {
 public:
  Variable() = default;
  Variable(const Variable& other);
  Variable(Variable&& other) noexcept = default;
  Variable& operator=(Variable other) noexcept {
    node_.swap(other.node_);
    return *this;
  }
  ~Variable();
  /// A leaf: a parameter if `requires_grad`, else a constant.
  /// Throws: ValueError if `value` is empty or a parameter is not f32.
  Variable(Tensor value, bool requires_grad = false);

  /// Whether the Variable is not empty; the shape of its value.
  explicit operator bool() const { return node_ != nullptr; }
  const Shape& shape() const&;
  Shape shape() &&;
  /// Unique per op result and leaf; ascending in creation order.
  uint64_t id() const;
  /// The value, computed now if deferred. The reference is valid while a
  /// Variable of the node exists; to keep the value, copy the Tensor, which
  /// shares the elements.
  const Tensor& value() const&;
  Tensor value() &&;
  /// The value of a one-element f32 Variable, such as a loss.
  /// Throws: as Tensor::item().
  float item() const { return value().item(); }
  /// Whether backward() computes a gradient for it or a leaf it depends on.
  bool requires_grad() const;
  /// Sets whether backward() computes a gradient for this leaf; if not, clears
  /// its gradient. Not between a forward pass and its backward pass.
  /// Throws: ValueError (not a leaf, or not f32).
  void set_requires_grad(bool required) const;
  /// Whether the Variable was created from a Tensor, not by an op.
  bool is_leaf() const;

  /// Runs the tape from this one-element Variable to the leaves and adds to
  /// their gradients. Releases the tape: a second call is an error.
  /// Throws: ShapeError for more than one element; ValueError if nothing
  /// requires a gradient or the tape was released.
  void backward() const;
  /// Passes each leaf gradient to `receive` once, as soon as it is complete and
  /// no op of the tape needs the leaf's value, which `receive` may then write;
  /// grad() is unchanged. Leaves with zero gradient may be skipped. Tapes of
  /// several threads may then share leaves if only one thread runs at a time.
  void backward(const GradientReceiver& receive) const;

  /// A leaf's gradient; empty before the first backward().
  /// Throws: ValueError (not a leaf).
  const Tensor& grad() const&;
  Tensor grad() &&;
  /// Clears a leaf's gradient; the next backward() starts from zero.
  /// Throws: ValueError (not a leaf).
  void zero_grad() const;
  /// Replaces the gradient of a leaf, for example with a sum computed
  /// elsewhere. Shares the tensor.
  /// Throws: ShapeError for a gradient of another shape, or not f32; ValueError
  /// (not a leaf that requires one).
  void set_grad(Tensor gradient) const;

  /// Copies `value` into a leaf.
  /// Throws: ShapeError for another shape or type; ValueError (not a leaf).
  void assign(const Tensor& value) const;
  /// Replaces the value of a leaf without a copy if no other handle shares the
  /// buffer of `value`, otherwise as assign(). Handles of the previous buffer
  /// keep it. Throws: as assign().
  void adopt(Tensor value) const;
  /// Returns write access to the elements of a leaf. A backward() that needs
  /// the previous values then throws.
  /// Throws: ValueError (not a leaf, or not f32).
  WriteSpan mutable_value() const;

  /// Number of writes to the value of a leaf, through any leaf on the same
  /// buffer. Throws: ValueError (not a leaf).
  uint64_t version() const;

  /// The same value, detached from the tape.
  Variable detach() const;

  /// Entry `index` of the first axis, which is dropped. Negative counts from
  /// the end.
  /// Shapes: [n,...] -> [...]. Throws: ShapeError without axes or out of range.
  Variable operator[](int64_t index) const;
  /// A part, as x[:, 1:, 0] in Python: x.index({Slice(), Slice(1), 0}). Axes
  /// with a single entry are dropped; axes without an index are kept whole.
  /// Throws: ShapeError for more indices than axes or an entry out of range;
  /// ValueError for two ellipses.
  Variable index(const std::vector<Index>& indices) const;

  /// For ops: a Variable of a node, and the node of a Variable; may be null.
  explicit Variable(autograd::NodePtr node);
  const autograd::NodePtr& node() const { return node_; }

 private:
  Tensor& count_write() const;
  void run_back(const GradientReceiver* receive) const;

  autograd::NodePtr node_;
};

/// Gradient function of an ordinary op: maps the gradient of the output to the
/// gradients of all inputs, in order; an empty Tensor is zero. Must be pure.
/// Gradients may have the shape of the output: the engine sums over broadcast
/// dimensions.
using Vjp = std::function<std::vector<Tensor>(const Tensor& gradient)>;

/// Records an op on the tape; for custom ops:
///
///   Variable square(const Variable& x) {
///     Tensor y = ...;
///     return record("square", {x}, y, [x = x.value()](const Tensor& dy) {
///       return std::vector{...};
///     });
///   }
///
/// `vjp` may use the values of all inputs: backward() throws a ValueError if an
/// input was written in between. Throws: ValueError for an empty output.
Variable record(std::string_view name, std::vector<Variable> inputs,
                Tensor output, Vjp vjp);
/// Records an op whose `vjp` uses only the tensors `saved`. Throws: as above.
Variable record(std::string_view name, std::vector<Variable> inputs,
                Tensor output, std::vector<Tensor> saved, Vjp vjp);

/// Whether this thread records ops.
bool grad_enabled();

/// Disables recording on this thread for the guard's lifetime: ops have no
/// gradients.
class NoGradGuard {
 public:
  /// Begins; the destructor restores the previous mode.
  NoGradGuard();
  ~NoGradGuard();
  NoGradGuard(const NoGradGuard&) = delete;
  NoGradGuard& operator=(const NoGradGuard&) = delete;

 private:
  bool before_;
};

/// Makes this thread compute every op immediately and separately, for the
/// guard's lifetime: the reference for tests of deferred expressions.
class EagerGuard {
 public:
  /// Begins; the destructor restores the previous mode.
  EagerGuard();
  ~EagerGuard();
  EagerGuard(const EagerGuard&) = delete;
  EagerGuard& operator=(const EagerGuard&) = delete;

 private:
  bool before_;
};

/// Makes this thread multiply quantized values as floats, for the guard's
/// lifetime: the reference for the INT8 kernels. Bit-identical while no sum of
/// products exceeds 2^24.
class FloatGemmGuard {
 public:
  /// Begins; the destructor restores the previous mode.
  FloatGemmGuard();
  ~FloatGemmGuard();
  FloatGemmGuard(const FloatGemmGuard&) = delete;
  FloatGemmGuard& operator=(const FloatGemmGuard&) = delete;

 private:
  bool before_;
};

/// Returns the value, followed by "requires_grad" for a leaf that requires a
/// gradient, or by the name of the op that computed it: "[1. 2.], op=relu". A
/// deferred value is computed. An empty handle is "empty variable".
std::string to_string(const Variable& x, const PrintOptions& options = {});
/// Prints to_string(x). Stream flags are ignored.
std::ostream& operator<<(std::ostream& out, const Variable& x);

}  // namespace octet
