#include <cstring>
#include <utility>

#include <fmt/format.h>

#include <octet/runtime/detail/thread_modes.h>
#include <octet/runtime/error.h>
#include <octet/runtime/variable.h>

#include "inference/trace.h"
#include "node.h"
#include "observe.h"

namespace octet {
namespace {

autograd::Node& checked(const autograd::NodePtr& node) {
  if (node == nullptr)
    throw ValueError("missing_value", "variable", "has no value");
  return *node;
}

autograd::Leaf& leaf(const autograd::NodePtr& node, std::string_view action) {
  auto* result = dynamic_cast<autograd::Leaf*>(&checked(node));
  if (result == nullptr) {
    throw ValueError(
        "invalid_value", action,
        fmt::format("needs a leaf, got the result of {}", node->op));
  }
  return *result;
}

}  // namespace

bool grad_enabled() { return thread_modes().records; }
NoGradGuard::NoGradGuard()
    : before_(std::exchange(thread_modes().records, false)) {}
NoGradGuard::~NoGradGuard() { thread_modes().records = before_; }
EagerGuard::EagerGuard() : before_(std::exchange(thread_modes().eager, true)) {}
EagerGuard::~EagerGuard() { thread_modes().eager = before_; }

FloatGemmGuard::FloatGemmGuard()
    : before_(std::exchange(thread_modes().float_codes, true)) {}
FloatGemmGuard::~FloatGemmGuard() { thread_modes().float_codes = before_; }

Variable::Variable(Tensor value, bool requires_grad) {
  if (value.empty())
    throw ValueError("missing_value", "variable", "needs a tensor");
  if (requires_grad && value.dtype() != DType::f32) {
    throw ValueError("dtype_mismatch", "variable",
                     fmt::format("only f32 can require a gradient, got {}",
                                 to_string(value.dtype())));
  }
  node_ = std::make_shared<autograd::Leaf>(std::move(value));
  node_->needs_grad = requires_grad;
  node_->add_variable();
}

Variable::Variable(autograd::NodePtr node) : node_(std::move(node)) {
  if (node_ == nullptr) return;
  if (autograd::observing()) autograd::observe(*node_);
  node_->add_variable();
}

Variable::Variable(const Variable& other) : node_(other.node_) {
  if (node_ != nullptr) node_->add_variable();
}

Variable::~Variable() {
  if (node_ != nullptr) node_->remove_variable();
}

const Shape& Variable::shape() const& { return checked(node_).shape; }
Shape Variable::shape() && { return checked(node_).shape; }
uint64_t Variable::id() const { return checked(node_).id; }
const Tensor& Variable::value() const& {
  autograd::Node& node = checked(node_);
  if (inference::Trace* trace = inference::active_trace()) {
    trace->note_read(node.id);
  }
  return autograd::value_of(node);
}
Tensor Variable::value() && { return std::as_const(*this).value(); }
bool Variable::requires_grad() const { return checked(node_).needs_grad; }
void Variable::set_requires_grad(bool required) const {
  autograd::Leaf& target = leaf(node_, "set_requires_grad");
  if (required && target.value.dtype() != DType::f32) {
    throw ValueError("dtype_mismatch", "variable",
                     fmt::format("only f32 can require a gradient, got {}",
                                 to_string(target.value.dtype())));
  }
  target.needs_grad = required;
  if (!required) target.grad = {};
}
bool Variable::is_leaf() const {
  return dynamic_cast<const autograd::Leaf*>(&checked(node_)) != nullptr;
}

void Variable::backward() const { run_back(nullptr); }

void Variable::backward(const GradientReceiver& receive) const {
  run_back(&receive);
}

void Variable::run_back(const GradientReceiver* receive) const {
  autograd::Node& node = checked(node_);
  if (shape().size() != 1) {
    throw ShapeError("invalid_shape", "backward",
                     fmt::format("needs a variable with 1 element, got {}",
                                 shape().to_string()));
  }
  if (!node.needs_grad) {
    throw ValueError(
        "no_gradient", "backward",
        "the variable does not require a gradient. Hint: compute it outside of "
        "NoGradGuard, from a parameter that requires a gradient");
  }
  autograd::Engine(receive).run(node_);
}

const Tensor& Variable::grad() const& { return leaf(node_, "grad").grad; }
Tensor Variable::grad() && { return leaf(node_, "grad").grad; }
void Variable::zero_grad() const { leaf(node_, "zero_grad").grad = {}; }
void Variable::set_grad(Tensor gradient) const {
  autograd::Leaf& target = leaf(node_, "set_grad");
  if (!target.needs_grad) {
    throw ValueError("no_gradient", "set_grad",
                     "the variable does not require a gradient");
  }
  if (gradient.empty() || gradient.dtype() != DType::f32 ||
      gradient.shape() != target.shape) {
    throw ShapeError(
        "shape_mismatch", "set_grad",
        fmt::format(
            "the gradient must be f32 {}, got {}", target.shape.to_string(),
            gradient.empty() ? std::string("nothing")
                             : fmt::format("{} {}", to_string(gradient.dtype()),
                                           gradient.shape().to_string())));
  }
  target.grad = std::move(gradient);
}

namespace {

void expect_fits(const autograd::Leaf& target, const Tensor& value) {
  if (!value.empty() && value.shape() == target.shape &&
      value.dtype() == target.value.dtype()) {
    return;
  }
  throw ShapeError(
      "shape_mismatch", "assign",
      fmt::format("the value must be {} {}, got {} {}",
                  to_string(target.value.dtype()), target.shape.to_string(),
                  to_string(value.dtype()), value.shape().to_string()));
}

}  // namespace

void Variable::assign(const Tensor& value) const {
  expect_fits(leaf(node_, "assign"), value);
  std::memmove(count_write().raw(), value.raw(),
               static_cast<size_t>(value.bytes()));
}

void Variable::adopt(Tensor value) const {
  autograd::Leaf& target = leaf(node_, "assign");
  expect_fits(target, value);
  if (value.is_shared() || target.value.being_written()) return assign(value);
  // Continues the version count.
  const uint64_t before = count_write().writes();
  while (value.writes() < before) value.count_write();
  target.value = std::move(value);
}

WriteSpan Variable::mutable_value() const {
  autograd::Leaf& target = leaf(node_, "mutable_value");
  WriteSpan span(target.value);
  target.forget_packed();
  return span;
}

WriteSpan::WriteSpan(const Tensor& value)
    : value_(value), elements_(value_.f32()) {
  value_.begin_writing();
}

WriteSpan::~WriteSpan() {
  if (!value_.empty()) value_.end_writing();
}

Tensor& Variable::count_write() const {
  autograd::Leaf& target = leaf(node_, "write");
  target.forget_packed();
  target.value.count_write();
  return target.value;
}

uint64_t Variable::version() const {
  return leaf(node_, "version").value.writes();
}

Variable Variable::detach() const {
  // Traces record no gradients.
  return inference::is_traced(*this) ? *this : Variable(value());
}

Variable record(std::string_view name, std::vector<Variable> inputs,
                Tensor output, Vjp vjp) {
  std::vector<Tensor> values;
  for (const Variable& input : inputs) {
    // A value not yet computed cannot have been saved.
    if (grad_enabled() && input) values.push_back(input.node()->value);
  }
  return record(name, std::move(inputs), std::move(output), std::move(values),
                std::move(vjp));
}

Variable record(std::string_view name, std::vector<Variable> inputs,
                Tensor output, std::vector<Tensor> kept, Vjp vjp) {
  if (output.empty()) {
    throw ValueError("missing_value", name, "has no output");
  }
  auto node = std::make_shared<autograd::FunctionNode>(name, output.shape(),
                                                       std::move(vjp));
  node->value = std::move(output);
  for (const Variable& input : inputs) {
    const autograd::NodePtr& from = input.node();
    node->depend_on(from);
    const bool needed = grad_enabled() && from != nullptr && from->needs_grad;
    node->arguments.push_back(needed ? from.get() : nullptr);
  }
  if (node->needs_grad) {
    node->kept.assign(kept.begin(), kept.end());
  } else {
    node->vjp = nullptr;
  }
  return Variable(std::move(node));
}

namespace autograd {

bool eager() { return thread_modes().eager; }
bool float_codes() { return thread_modes().float_codes; }

const Tensor& value_of(Node& node) {
  if (node.value.empty()) {
    node.value =
        with_context([&] { return fmt::format("in the value of {}", node.op); },
                     [&] { return node.compute(); });
    const Expression* e = node.expression();
    if (e != nullptr && nonnegative(*e)) node.mark_nonnegative();
  }
  return node.value;
}

Expression expression_of(const Variable& x) {
  Node& node = checked(x.node());
  const Expression* own = node.expression();
  // The tape of a released node is gone: recording continues from the node
  // itself, so that backward() can report it.
  const bool usable = !node.released || !grad_enabled();
  if (own != nullptr && node.value.empty() && usable) return *own;
  Expression e;
  e.shape = node.shape;
  e.first = node.term();
  if (const QuantParams* qparams = node.value_qparams()) {
    e.qparams = *qparams;
    e.already_quantized = true;
  }
  return e;
}

Expression extendable(const Variable& x) {
  Node& node = checked(x.node());
  Expression e = expression_of(x);
  if (!e.qparams.empty()) return expression_of(value_of(node), &node);
  if (e.materialized()) return expression_of(*e.buffer, &node);
  return e;
}

Variable wrap(std::string_view op, Expression e) {
  auto node = std::make_shared<ExpressionNode>(op, std::move(e));
  Expression& own = node->e;
  const auto depend = [&](Node*& target) {
    if (target == nullptr) return;
    if (grad_enabled() && target->needs_grad) {
      node->depend_on(target->shared_from_this());
    } else {
      target = nullptr;
    }
  };
  depend(own.first.target);
  if (own.second) depend(own.second->target);
  depend(own.scale.node);
  inference::Trace* trace = inference::active_trace();
  if (trace != nullptr && trace->append(*node, own)) {
    own.buffer = nullptr;  // no value is ever stored
  }
  if (eager()) value_of(*node);
  return Variable(std::move(node));
}

}  // namespace autograd
}  // namespace octet
