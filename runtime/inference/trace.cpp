#include "trace.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include <octet/runtime/error.h>

namespace octet::inference {
namespace {

using autograd::Expression;

thread_local Trace* current = nullptr;

// Output of a traced op. Expressions refer to it by id; its memory is never
// touched unless the value is read.
struct TracedNode final : autograd::Node {
  using Node::Node;

  Tensor compute() override { return Tensor::zeros(shape); }
  const QuantParams* value_qparams() const override {
    return qparams.empty() ? nullptr : &qparams;
  }
  autograd::Term term() override {
    if (stand_in.empty()) stand_in = Tensor(shape);
    autograd::Term result;
    result.t = stand_in;
    result.source = id;
    result.nonnegative = nonnegative();
    return result;
  }

  QuantParams qparams;
  Tensor stand_in;
};

std::vector<const autograd::Term*> terms_of(const Expression& e) {
  std::vector<const autograd::Term*> terms{&e.first};
  if (e.second) terms.push_back(&*e.second);
  return terms;
}

bool is_sample(const Shape& shape) { return shape.rank() > 0 && shape[0] == 1; }

// Expressions of a trace store only the tensors of their factors.
void drop_values(autograd::Term& term) {
  term.t = {};
  term.statistics = {};
  term.target = nullptr;
}

}  // namespace

Trace* active_trace() { return current; }

TraceGuard::TraceGuard(Trace& trace)
    : before_(std::exchange(current, &trace)) {}
TraceGuard::~TraceGuard() { current = before_; }

void Trace::add(TraceNode node) {
  places_.emplace(node.id, nodes_.size());
  nodes_.push_back(std::move(node));
}

Expression Operand::of(const Tensor& x) const {
  Expression e = autograd::expression_of(x, nullptr);
  e.first.nonnegative = nonnegative;
  e.qparams = qparams;
  e.already_quantized = !qparams.empty();
  return e;
}

bool Trace::is_traced(const Expression& e) const {
  return std::ranges::any_of(terms_of(e), [&](const autograd::Term* term) {
    return is_traced(term->source);
  });
}

// Values that a layer computes after an untraced use of a traced value may
// depend on it.
bool Trace::is_constant(const Variable& x) const {
  return x.id() < first_id_ || !(reads_ || (uses_ && !x.is_leaf()));
}

// A copy, as the tensor may be a parameter.
Variable Trace::constant(const Variable& x) {
  if (contains(x.id()) || !is_constant(x)) return x;
  const Variable value(autograd::value_of(*x.node()).clone());
  add({.layer = layer_,
       .op = "constant",
       .inputs = {},
       .attributes = value.node()->value,
       .forward = {},
       .shape = x.shape(),
       .qparams = {},
       .id = value.id()});
  return value;
}

// Replaces inputs by constants. Returns whether all inputs fit.
bool Trace::admit(TracedOp& op) {
  if (op.across_samples || !is_sample(op.shape)) return false;
  for (Variable& x : op.inputs) {
    const bool aligned = !op.broadcasts || x.shape().rank() == op.shape.rank();
    const bool fits = is_sample(x.shape()) && aligned;
    if (!fits && !op.broadcasts) return false;
    x = constant(x);
    if (!contains(x.id())) return false;
    if (!fits && node(x.id()).constant() == nullptr) return false;
  }
  return true;
}

Variable Trace::append(TracedOp op) {
  const bool traced = op.inputs.empty() ||
                      std::ranges::any_of(op.inputs, [&](const Variable& x) {
                        return is_traced(x.id());
                      });
  if (!traced) return {};
  if (!admit(op)) {
    uses_ = true;
    return {};
  }
  TraceNode node{.layer = layer_,
                 .op = std::string(op.op),
                 .inputs = {},
                 .attributes = std::move(op.attributes),
                 .forward = std::move(op.forward),
                 .shape = op.shape,
                 .qparams = op.qparams,
                 .broadcasts = op.broadcasts,
                 .id = 0};
  for (const Variable& x : op.inputs) node.inputs.push_back(x.id());
  auto output = std::make_shared<TracedNode>(op.op, op.shape);
  output->qparams = std::move(op.qparams);
  if (op.nonnegative) output->mark_nonnegative();
  node.id = output->id;
  add(std::move(node));
  return Variable(std::move(output));
}

bool Trace::append(const autograd::Node& node, const Expression& e) {
  if (!is_traced(e)) return false;
  Expression own = e;
  std::vector<uint64_t> sources;
  for (const autograd::Term* term : terms_of(e)) {
    if (!contains(term->source)) {
      uses_ = true;
      return false;
    }
    sources.push_back(term->source);
  }
  drop_values(own.first);
  if (own.second) drop_values(*own.second);
  own.buffer = nullptr;
  add({.layer = layer_,
       .op = node.op,
       .inputs = std::move(sources),
       .attributes = std::move(own),
       .forward = {},
       .shape = e.shape,
       .qparams = e.qparams,
       .id = node.id});
  return true;
}

Variable Trace::input(const Shape& shape) {
  const TraceGuard active(*this);
  const Variable x =
      append({.op = "input", .inputs = {}, .shape = shape.with(0, 1)});
  inputs.push_back(x.id());
  return x;
}

Variable Trace::call(const std::string& layer,
                     std::span<const Variable> arguments,
                     const Program::Function& function,
                     const std::function<Program::Function()>& lasting) {
  for (const Variable& x : arguments) {
    if (contains(x.id())) continue;
    throw InternalError("internal", "trace", "an input was not traced");
  }
  layer_ = layer;
  reads_ = false;
  uses_ = false;
  first_id_ = std::make_shared<TracedNode>("layer", Shape{})->id;
  const size_t before = nodes_.size();
  const TraceGuard active(*this);
  const Variable y = function(arguments);
  if (y.shape().rank() < 1 || y.shape()[0] != 1) {
    throw UnsupportedError(
        "unsupported_layer", fmt::format("'{}'", layer),
        fmt::format("the first axis of the output must be the batch, got {} "
                    "for one sample",
                    y.shape().to_string()));
  }
  if (contains(y.id())) {
    if (!reads_) return y;
    throw UnsupportedError(
        "unsupported_layer", fmt::format("'{}'", layer),
        "the layer inspects the values of a sample, so its "
        "ops cannot be compiled. Hint: use Model::predict()");
  }
  if (const Variable value = constant(y); contains(value.id())) return value;
  for (size_t i = before; i < nodes_.size(); ++i) places_.erase(nodes_[i].id);
  nodes_.erase(nodes_.begin() + static_cast<std::ptrdiff_t>(before),
               nodes_.end());
  return append_layer(arguments, y, lasting());
}

// The output stays an expression of the call's result, as in the model.
Variable Trace::append_layer(std::span<const Variable> arguments,
                             const Variable& y, Program::Function function) {
  Expression known = autograd::expression_of(y);
  const bool affine =
      !known.second && !known.clipped() && known.first.t.shape() == y.shape();
  const Variable result =
      append({.op = "call",
              .inputs = {arguments.begin(), arguments.end()},
              .shape = y.shape(),
              .attributes = LayerCall{std::move(function), affine}});
  const autograd::Term term = result.node()->term();
  Expression e;
  if (affine) e = known;
  e.shape = y.shape();
  e.first.t = term.t;
  e.first.source = term.source;
  e.first.statistics = {};
  e.first.target = nullptr;
  // A custom layer may return negative values in another call.
  e.first.nonnegative = false;
  e.qparams = known.qparams;
  return autograd::wrap("output", std::move(e));
}

void Trace::remove(const std::vector<bool>& unused) {
  std::vector<TraceNode> all = std::exchange(nodes_, {});
  places_.clear();
  for (size_t i = 0; i < all.size(); ++i) {
    if (!unused[i]) add(std::move(all[i]));
  }
}

std::string Trace::to_string() const {
  std::string text;
  for (const TraceNode& node : nodes_) {
    std::vector<std::string> read;
    for (const uint64_t id : node.inputs) {
      read.push_back(fmt::format("%{}", places_.at(id)));
    }
    text += fmt::format("  %{} = {}({}) {}", places_.at(node.id), node.op,
                        fmt::join(read, ", "), node.shape.to_string());
    if (!node.qparams.empty()) {
      text += fmt::format(" in [{},{}]", node.qparams.low, node.qparams.high);
    }
    if (!node.layer.empty()) text += fmt::format("  '{}'", node.layer);
    text += "\n";
  }
  return text;
}

}  // namespace octet::inference
