#include "node.h"

#include <utility>

#include <fmt/format.h>

#include <octet/runtime/error.h>

#include "scale_gradient.h"
#include "tensor/broadcast.h"

namespace octet::autograd {
namespace {

std::atomic<uint64_t> next_id{1};

// Destroys deep graphs without recursion: nodes that lose their last owner are
// freed from this list.
thread_local std::vector<NodePtr>* dying = nullptr;

}  // namespace

Gradient plain_gradient(const Tensor& g) {
  Gradient gradient;
  if (!g.empty()) gradient.value = expression_of(g, nullptr);
  return gradient;
}

Node::Node(std::string_view name, const Shape& s)
    : id(next_id++), op(name), shape(s) {}

Node::~Node() {
  if (inputs.empty()) return;
  if (dying != nullptr) {
    for (NodePtr& input : inputs) dying->push_back(std::move(input));
    return;
  }
  std::vector<NodePtr> list = std::move(inputs);
  dying = &list;
  while (!list.empty()) {
    const NodePtr last = std::move(list.back());
    list.pop_back();
  }
  dying = nullptr;
}

void Node::remove_variable() {
  if (--variables_ == 0 && !inputs.empty()) value = {};
}

void Node::depend_on(const NodePtr& input) {
  if (!grad_enabled() || input == nullptr || !input->needs_grad) return;
  inputs.push_back(input);
  needs_grad = true;
}

Tensor Node::compute() { throw InternalError("internal", op, "has no value"); }

Term Node::term() {
  Term result;
  result.t = value_of(*this);
  result.source = id;
  result.nonnegative = nonnegative();
  result.target = this;
  return result;
}

bool Node::scale_alone() const {
  const Expression* e = expression();
  return e != nullptr && e->scale.node != nullptr && !eager() &&
         e->first.target == nullptr &&
         (!e->second || e->second->target == nullptr) &&
         pending_gradients.pending == 1 && pending_gradients.gradients.empty();
}

void Node::backward(Engine&) {}

Leaf::Leaf(Tensor v) : Node("leaf", v.shape()) { value = std::move(v); }

void Leaf::forget_packed() {
  const std::lock_guard lock(mutex);
  packed.clear();
}

void Leaf::backward(Engine& engine) { engine.arrive(*this); }

ExpressionNode::ExpressionNode(std::string_view name, Expression expression)
    : Node(name, expression.shape), e(std::move(expression)) {}

Tensor ExpressionNode::compute() {
  // Without Q the buffer is the value.
  if (e.second && e.buffer != nullptr && e.qparams.empty()) {
    materialize(e);
    return *e.buffer;
  }
  return evaluate(e);
}

void ExpressionNode::backward(Engine& engine) {
  Gradient gradient = Engine::collect(*this);
  if (e.scale.node != nullptr && gradient.value.first.t.empty() &&
      gradient.slopes.empty()) {
    engine.deliver(e.scale.node, {});
  }
  // A shift alone leaves the gradient unchanged: pass it on deferred if the
  // sums that the bias needs are known.
  const bool passes = e.affine() && e.first.a.empty() &&
                      e.scale.node == nullptr && !gradient.totals.empty();
  if (!gradient.value.first.t.empty() && !gradient.finished && !passes) {
    materialize(e);
    const Tensor g = value_of(gradient.value);
    const bool learned = e.scale.node != nullptr;
    if (learned && eager()) {
      engine.deliver(e.scale.node, plain_gradient(scale_gradient(e, g)));
    }
    const OpenInterval pass = e.pass();
    const bool open = pass.low == -kInfinity && pass.high == kInfinity;
    const bool sums = e.first.scaled() || (e.second && e.second->scaled());
    gradient = open && !sums && (!learned || eager()) ? plain_gradient(g)
                                                      : Engine::masked(e, g);
  }
  if (!gradient.slopes.empty()) {
    const Tensor of_scale = sum_of_slopes(e, gradient.slopes);
    engine.deliver(e.scale.node, plain_gradient(of_scale));
    gradient.slopes = {};
  }
  gradient.finished = false;
  if (e.first.target != nullptr) {
    gradient.slot = 1;
    engine.deliver(e.first.target, gradient);
  }
  if (e.second && e.second->target != nullptr) {
    gradient.slot = 2;
    engine.deliver(e.second->target, gradient);
  }
}

void ExpressionNode::release() {
  e.scale.node = nullptr;
  e.first.target = nullptr;
  if (e.second) e.second->target = nullptr;
}

FunctionNode::FunctionNode(std::string_view name, const Shape& s, Vjp rule)
    : Node(name, s), vjp(std::move(rule)) {}

void FunctionNode::backward(Engine& engine) {
  const Tensor g = Engine::total(*this);
  std::vector<Tensor> results;
  if (!g.empty()) {
    for (const SavedTensor& tensor : kept) (void)tensor.read();
    results = vjp(g);
    if (results.size() != arguments.size()) {
      throw ValueError("count_mismatch", fmt::format("gradient of {}", op),
                       fmt::format("must have {} tensors, got {}",
                                   arguments.size(), results.size()));
    }
  }
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i] == nullptr) continue;
    Tensor part;
    if (!g.empty() && !results[i].empty()) {
      part =
          with_context([&] { return fmt::format("input {}", i); },
                       [&] { return sum_to(results[i], arguments[i]->shape); });
    }
    engine.deliver(arguments[i], plain_gradient(part));
  }
}

void FunctionNode::release() {
  vjp = nullptr;
  kept.clear();
}

}  // namespace octet::autograd
