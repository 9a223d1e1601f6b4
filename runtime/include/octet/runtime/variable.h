// Variable: a value that remembers how it was computed, so that backward()
// can find the gradient of a loss for every leaf.
//
// Between two linear ops (convolution, dense) the pointwise ops of a CNN are
// not run one by one: a Variable then holds an expression that the next
// linear op evaluates while it reads its input. value() computes it on
// demand, so no caller sees the difference. See runtime/README.md.
//
// A Variable belongs to one thread. Leaves may be read by several threads
// that run under NoGradGuard.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include <octet/runtime/index.h>
#include <octet/runtime/tensor.h>

namespace octet {

namespace autograd {
struct Node;
using NodePtr = std::shared_ptr<Node>;
}  // namespace autograd

/// The elements of a leaf, for writing in place:
///
///   const auto w = parameter.mutable_value();
///   w[0] += 0.5f;
///
/// Both its beginning and its end count as writes, and while it lives no packed
/// weights or scales are kept, so a model may run in between. Give it a name
/// (`auto`) and end its scope when the writing is done: what it writes between
/// a forward pass and its backward, or the value() of a deferred one, goes
/// unnoticed until then.
class [[nodiscard]] WriteSpan {
 public:
  WriteSpan(WriteSpan&& other) noexcept = default;
  WriteSpan& operator=(WriteSpan&&) = delete;
  ~WriteSpan();

  float& operator[](size_t i) const { return elements_[i]; }
  float* begin() const { return elements_.data(); }
  float* end() const { return elements_.data() + elements_.size(); }
  float* data() const { return elements_.data(); }
  size_t size() const { return elements_.size(); }
  bool empty() const { return elements_.empty(); }
  operator std::span<float>() const& { return elements_; }
  // Not of a temporary, whose writing ends before the span is used.
  operator std::span<float>() const&& = delete;

 private:
  friend class Variable;
  explicit WriteSpan(const Tensor& value);

  Tensor value_;
  std::span<float> elements_;
};

class Variable;

/// Takes the gradient of a leaf. The tensor may be shared: it is read only.
using GradientReceiver =
    std::function<void(const Variable& leaf, const Tensor& gradient)>;

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
  /// A leaf: a constant, or with `requires_grad` a parameter.
  /// Throws: ValueError if a parameter is not f32.
  Variable(Tensor value, bool requires_grad = false);

  explicit operator bool() const { return node_ != nullptr; }
  const Shape& shape() const&;
  Shape shape() &&;
  /// Differs for every op result and leaf; rises in the order of creation.
  uint64_t id() const;
  /// The value, computed if it was deferred. It lives as long as a Variable of
  /// it: keep a Tensor, which shares its elements, not the reference.
  const Tensor& value() const&;
  Tensor value() &&;
  bool requires_grad() const;
  /// Of a leaf: whether backward() finds a gradient for it. Not between a
  /// forward pass and its backward().
  /// Throws: ValueError (not a leaf, or not f32).
  void set_requires_grad(bool required) const;
  /// True for a Variable made from a Tensor, not by an op.
  bool is_leaf() const;

  /// Runs the tape from this one-element Variable back to the leaves and adds
  /// to their gradients. The tape is released: a second call is an error.
  /// Throws: ShapeError if there is more than one element; ValueError if
  /// nothing requires a gradient or the tape was released.
  void backward() const;
  /// The same, but the gradients of leaves go to `receive`, each once, as soon
  /// as it is complete and while the tape runs on; grad() stays as it is.
  /// Leaves whose gradient is zero may be left out. Tapes of several threads
  /// may then have leaves in common, as long as one thread runs at a time.
  void backward(const GradientReceiver& receive) const;

  /// A leaf's gradient; empty before the first backward().
  const Tensor& grad() const&;
  Tensor grad() &&;
  void zero_grad() const;
  /// Gives a leaf a gradient, in place of the one it has: a sum that was made
  /// elsewhere. The tensor is shared.
  /// Throws: ShapeError; ValueError (not a leaf that requires one, or not f32).
  void set_grad(Tensor gradient) const;

  /// Copies `value` into a leaf. Throws: ShapeError, ValueError (not a leaf).
  void assign(const Tensor& value) const;
  /// The same without a copy, where nobody else has the buffer of `value`: it
  /// becomes the leaf's, and what has the one before keeps that.
  void adopt(Tensor value) const;
  /// A leaf's elements for writing in place; their number and place stay as
  /// they are. A backward() that needs what was there before refuses.
  /// Throws: ValueError (not a leaf, or not f32).
  WriteSpan mutable_value() const;

  /// Of a leaf: how often its value was written, through this leaf or another
  /// one on the same buffer. Throws: ValueError (not a leaf).
  uint64_t version() const;

  /// The same value cut off from the tape.
  Variable detach() const;

  /// Entry `index` of the first axis, which goes; from the end if negative.
  /// Shapes: [n,...] -> [...]. Throws: ShapeError without axes or out of range.
  Variable operator[](int64_t index) const;
  /// A part, as x[:, 1:, 0] in Python: x.index({Slice(), Slice(1), 0}). Axes
  /// with one entry go; those without an index stay whole.
  /// Throws: ShapeError for more indices than axes, or an entry that is not
  /// there; ValueError for two ellipses.
  Variable index(const std::vector<Index>& indices) const;

  // For ops.
  explicit Variable(autograd::NodePtr node);
  const autograd::NodePtr& node() const { return node_; }

 private:
  Tensor& count_write() const;
  void run_back(const GradientReceiver* receive) const;

  autograd::NodePtr node_;
};

/// The gradient rule of an ordinary op: given the gradient of its output, one
/// gradient per input, in order; an empty Tensor means zero. It must not
/// change anything. Gradients may have the shape of the output: the engine
/// sums over broadcast dimensions.
using Vjp = std::function<std::vector<Tensor>(const Tensor& gradient)>;

/// Puts an op on the tape: the way to write a custom op.
///
///   Variable square(const Variable& x) {
///     Tensor y = ...;
///     return record("square", {x}, y, [x = x.value()](const Tensor& dy) {
///       return std::vector{...};
///     });
///   }
///
/// `vjp` may read the values of the inputs: backward() throws a ValueError if
/// one of them was written since.
Variable record(std::string_view name, std::vector<Variable> inputs,
                Tensor output, Vjp vjp);
/// The same of an op whose `vjp` reads `kept` and no other input.
Variable record(std::string_view name, std::vector<Variable> inputs,
                Tensor output, std::vector<Tensor> kept, Vjp vjp);

/// Whether ops record themselves on this thread.
bool grad_enabled();

/// Switches recording off while it lives.
class NoGradGuard {
 public:
  NoGradGuard();
  ~NoGradGuard();
  NoGradGuard(const NoGradGuard&) = delete;
  NoGradGuard& operator=(const NoGradGuard&) = delete;

 private:
  bool before_;
};

/// While it lives, this thread computes every op at once and in a pass of its
/// own: the reference that the deferred form is tested against.
class EagerGuard {
 public:
  EagerGuard();
  ~EagerGuard();
  EagerGuard(const EagerGuard&) = delete;
  EagerGuard& operator=(const EagerGuard&) = delete;

 private:
  bool before_;
};

/// While it lives, this thread multiplies the codes of quantized tensors as
/// floats: the reference for the integer kernels, with the same bits as long
/// as no sum of code products goes beyond 2^24.
class FloatCodesGuard {
 public:
  FloatCodesGuard();
  ~FloatCodesGuard();
  FloatCodesGuard(const FloatCodesGuard&) = delete;
  FloatCodesGuard& operator=(const FloatCodesGuard&) = delete;

 private:
  bool before_;
};

}  // namespace octet
