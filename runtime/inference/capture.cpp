#include "capture.h"

#include <algorithm>

#include <fmt/format.h>

#include <octet/runtime/error.h>

#include "../arena.h"
#include "../byte_codes.h"

namespace octet::inference {
namespace {

using autograd::Expression;
using autograd::kInfinity;
using autograd::Term;

Expression expression_of(const Term& term, const Shape& shape) {
  Expression e;
  e.shape = shape;
  e.first = term;
  e.first.low = -kInfinity;
  e.first.high = kInfinity;
  e.first.qparams = {};
  e.low = term.low;
  e.high = term.high;
  e.qparams = term.qparams;
  return e;
}

}  // namespace

Variable Capture::input(const Shape& shape) {
  // Zeros: stale memory might equal the data of a later check for layers that
  // depend on values.
  const Tensor x = Tensor::zeros(shape.with(0, 1));
  graph_.inputs.push_back(add_value({.shape = x.shape(), .qparams = {}}, x));
  const Variable input(x);
  hold(input);
  return input;
}

void Capture::release(const Variable& x) {
  const auto found = held_.find(x.id());
  if (found == held_.end()) return;
  for (const Buffer* buffer : found->second.buffers) drop(buffer);
  held_.erase(found);
}

void Capture::drop(const Buffer* buffer) {
  if (--consumers_[buffer] == 0) unread_.push_back(buffer);
}

// Retains the buffers that x is read from now: computing its value moves it to
// another tensor.
void Capture::hold(const Variable& x) {
  const Expression e = autograd::expression_of(x);
  std::vector<const Buffer*> buffers{x.node()->value.buffer_,
                                     e.first.t.now().buffer_};
  if (e.second) buffers.push_back(e.second->t.now().buffer_);
  for (const Buffer* buffer : buffers) ++consumers_[buffer];
  Held& held = held_.try_emplace(x.id(), Held{x, {}}).first->second;
  buffers.swap(held.buffers);
  for (const Buffer* buffer : buffers) drop(buffer);
}

// Frees the memory of tensors that are no longer reachable from a Variable.
void Capture::give_memory() {
  for (; looked_at_ < alive_.size(); ++looked_at_) {
    const Buffer* buffer = alive_[looked_at_].buffer_;
    full_.insert(buffer);
    unread_.push_back(buffer);
  }
  for (const Buffer* buffer : unread_) {
    const auto consumers = consumers_.find(buffer);
    if (consumers != consumers_.end() && consumers->second > 0) continue;
    if (consumers != consumers_.end()) consumers_.erase(consumers);
    if (full_.erase(buffer) > 0) arena::give_memory(*buffer);
  }
  unread_.clear();
}

void Capture::name(const Tensor& tensor) {
  alive_.push_back(tensor);
  named_.push_back(tensor.raw());
}

int Capture::add_value(CapturedValue value, const Tensor& tensor) {
  const int id = static_cast<int>(graph_.values.size());
  graph_.values.push_back(std::move(value));
  name(tensor);
  tensors_[tensor.raw()] = id;
  return id;
}

// Returns -1 if the tensor was not captured. A tensor that shares the buffer
// under another shape is a different tensor.
int Capture::value_of(const Tensor& tensor) {
  if (const auto found = tensors_.find(tensor.raw()); found != tensors_.end()) {
    const CapturedValue& v = at(graph_.values, found->second);
    return v.shape == tensor.shape() ? found->second : -1;
  }
  if (const auto found = evaluated_.find(tensor.raw());
      found != evaluated_.end()) {
    if (found->second.shape != tensor.shape()) return -1;
    // Cached: nested expressions would be followed once per path.
    const auto known = resolved_.find(tensor.raw());
    return known != resolved_.end() ? known->second
                                    : resolve(tensor.raw(), found->second);
  }
  return -1;
}

// Returns the value of the expression that `tensor` represents.
int Capture::resolve(const void* tensor, const Expression& e) {
  const int value = value_of(e);
  if (value < 0) return value;
  resolved_[tensor] = value;
  resolved_by_call_.push_back(tensor);
  return value;
}

int Capture::value_of(const Expression& e) {
  const int first = value_of(e.first.t.now());
  if (first < 0) return -1;
  if (e.plain()) return first;
  if (!e.second && !e.first.scaled() && !e.clipped()) {  // Q alone
    const CapturedValue& v = at(graph_.values, first);
    if (!v.qparams.empty() && same_qparams(v.qparams, e.qparams)) return first;
    if (v.pointwise >= 0 && v.qparams.empty()) {
      return graph_.evaluation(v.pointwise, e.shape, e.qparams);
    }
  }
  int second = -1;
  if (e.second) {
    second = value_of(e.second->t.now());
    if (second < 0) return -1;
  }
  return graph_.evaluation(add_pointwise(e, first, second), e.shape, e.qparams);
}

int Capture::value_of(const Variable& v) {
  return value_of(autograd::expression_of(v));
}

int Capture::add_pointwise(const Expression& given, int first, int second) {
  Pointwise p;
  p.e = given;
  p.e.qparams = {};
  p.e.buffer = nullptr;
  p.first = first;
  p.second = second;
  if (const int known = graph_.find(p); known >= 0) return known;
  p.after = graph_.after(first);
  if (second >= 0) p.after = std::max(p.after, graph_.after(second));
  fuse(p);
  return graph_.add(std::move(p));
}

// Selects the sums whose epilogue could evaluate the expression: the latest to
// be available. The other term is stored as the operand to add.
void Capture::fuse(Pointwise& p) {
  const auto is_sums = [&](int v) {
    return v >= 0 && at(graph_.values, v).sums;
  };
  const Term& first = p.e.first;
  p.low2 = -kInfinity;
  p.high2 = kInfinity;
  if (p.second < 0) {
    p.fusable = is_sums(p.first);
    if (!p.fusable) return;
    p.sums = p.first;
    p.a = first.a;
    p.b = first.b;
    return;
  }
  const Term& second = *p.e.second;
  const bool follows_first =
      is_sums(p.first) && p.after == graph_.after(p.first);
  if (!follows_first && !is_sums(p.second)) return;
  const Term& own = follows_first ? first : second;
  const Term& rest = follows_first ? second : first;
  p.sums = follows_first ? p.first : p.second;
  p.a = own.a;
  p.b = own.b;
  if (!follows_first) {
    p.low2 = second.low;
    p.high2 = second.high;
    p.qparams2 = second.qparams;
  }
  Expression other = expression_of(rest, p.e.shape);
  p.other_plain = other.plain();
  p.other = value_of(other);
  // The operand is stored as bytes if it is quantized.
  const auto fits = [](const QuantParams& qparams) {
    return qparams.empty() || fits_bytes(qparams);
  };
  p.fusable = graph_.after(p.other) < graph_.after(p.sums) &&
              fits(other.qparams) && fits(at(graph_.values, p.other).qparams);
}

// Returns the input of a windowed op and its zero padding. The range of the
// quantization parameters must include 0.
std::pair<int, Pads> Capture::windows_of(const Expression& e) {
  const int value = value_of(e);
  if (value < 0 || e.second || e.first.scaled() || e.clipped()) {
    return {value, {}};
  }
  const auto found = padded_values_.find(value_of(e.first.t.now()));
  if (found == padded_values_.end()) return {value, {}};
  const auto& [base, pads] = found->second;
  if (e.qparams.empty()) return {base, pads};
  const CapturedValue v = at(graph_.values, base);
  const bool holds_zero = e.qparams.low <= 0 && e.qparams.high >= 0;
  if (holds_zero && same_qparams(v.qparams, e.qparams)) return {base, pads};
  if (!v.qparams.empty() || !holds_zero) return {value, {}};
  const int pointwise = v.pointwise < 0 ? graph_.plain(base) : v.pointwise;
  return {graph_.evaluation(pointwise, v.shape, e.qparams), pads};
}

// `value` represents the result.
void Capture::compute(Pointwise p, const Tensor& value) {
  const int last = graph_.add(std::move(p));
  name(value);
  tensors_[value.raw()] = graph_.evaluation(last, value.shape(), {});
}

bool Capture::activated(const Variable& x, const kernels::Activation& f,
                        const Tensor& value) {
  const int base = value_of(x);
  if (base < 0) return false;
  const CapturedValue v = at(graph_.values, base);
  const bool follows = v.pointwise >= 0 && v.qparams.empty() &&
                       at(graph_.pointwise, v.pointwise).expression_only();
  const int of = follows ? v.pointwise : graph_.plain(base);
  Pointwise p = at(graph_.pointwise, of);
  p.function = f;
  compute(std::move(p), value);
  return true;
}

// Expressed as a*t - 0, which is bit-identical to the product.
bool Capture::multiplied(const Variable& x, const Variable& by,
                         const Tensor& value) {
  const int rank = x.shape().rank();
  if (rank < 2 || by.shape().rank() != rank || x.shape() != value.shape()) {
    return false;
  }
  const int64_t channels = x.shape()[-1];
  if (by.shape()[-1] != channels || by.shape().size() != channels) return false;
  const int first = value_of(x);
  const int multiplier = value_of(by);
  if (first < 0 || multiplier < 0) return false;
  Pointwise p;
  p.e.shape = value.shape();
  p.e.first.b = Tensor::full({channels}, -0.0f);
  p.first = first;
  p.multiplier = multiplier;
  p.after = std::max(graph_.after(first), graph_.after(multiplier));
  compute(std::move(p), value);
  return true;
}

bool Capture::called(const Variable& x, const Program::Function& function,
                     const Tensor& value) {
  const int read = value_of(x);
  if (read < 0) return false;
  Call noted;
  noted.name = name_;
  noted.function = function;
  noted.inputs = {read};
  noted.output = add_value({.shape = value.shape(),
                            .call = static_cast<int>(graph_.calls.size()),
                            .qparams = {}},
                           value);
  graph_.calls.push_back(std::move(noted));
  return true;
}

bool Capture::pooled(const Variable& x, const kernels::MaxPool& sizes,
                     const Program::Function& function, const Tensor& value) {
  if (!called(x, function, value)) return false;
  const auto [of, pads] = windows_of(autograd::expression_of(x));
  graph_.calls.back().pool = {sizes, of, pads};
  return true;
}

void Capture::padded(const Variable& x, const Pads& pads, const Tensor& value) {
  name(value);
  padded_[value.raw()] = {autograd::expression_of(x), pads};
}

bool Capture::linear(const LinearCall& call) {
  const auto [x, pads] = windows_of(call.x);
  if (x < 0) {
    opaque_ = true;
    return false;
  }
  if (!call.kernels->has_windows()) opaque_ = true;
  const int id = static_cast<int>(graph_.calls.size());
  const int y = add_value(
      {.shape = call.y.shape(), .call = id, .sums = true, .qparams = {}},
      call.y);
  Call noted;
  noted.name = name_;
  noted.linear = call;
  noted.rescale = rescale_of(call.x, call.weight.scale, call.y.shape()[-1]);
  noted.linear->x = {};
  noted.linear->weight.multiplied = {};
  // A panel may alias the weight, which may change later.
  for (Tensor& panel : noted.linear->weight.panels) {
    const Tensor& weight = call.weight.multiplied.source.now();
    if (panel.raw() == weight.raw()) panel = panel.clone();
  }
  noted.linear->y = {};
  noted.inputs = {x};
  noted.pads = pads;
  noted.output = y;
  graph_.calls.push_back(std::move(noted));
  return true;
}

bool Capture::evaluated(const Expression& expression, const Tensor& value) {
  if (resolve(value.raw(), expression) < 0) return false;
  name(value);
  evaluated_[value.raw()] = expression;
  return true;
}

void Capture::forget_since(const CapturedGraph::Sizes& before) {
  graph_.shrink(before);
  for (const void* tensor : named_) {
    tensors_.erase(tensor);
    padded_.erase(tensor);
  }
  for (const void* tensor : resolved_by_call_) {
    const auto found = resolved_.find(tensor);
    if (found == resolved_.end()) continue;
    if (static_cast<size_t>(found->second) >= before.values) {
      resolved_.erase(found);
    }
  }
  // Materialized inputs stay: their Variables refer to these tensors from now
  // on.
  for (const void* tensor : named_) {
    const auto found = evaluated_.find(tensor);
    if (found != evaluated_.end() && value_of(found->second) < 0) {
      evaluated_.erase(found);
    }
  }
}

Variable Capture::call(const std::string& name,
                       std::span<const Variable> inputs,
                       const Program::Function& function,
                       const std::function<Program::Function()>& lasting) {
  const Variable y = run(name, inputs, function, lasting);
  for (const Variable& x : inputs) hold(x);
  hold(y);
  give_memory();
  return y;
}

Variable Capture::run(const std::string& name, std::span<const Variable> inputs,
                      const Program::Function& function,
                      const std::function<Program::Function()>& lasting) {
  name_ = name;
  opaque_ = false;
  std::vector<int> read;
  for (const Variable& x : inputs) {
    read.push_back(value_of(x));
    if (read.back() < 0) {
      throw InternalError("internal", "capture", "an input was not captured");
    }
  }
  const CapturedGraph::Sizes before = graph_.sizes();
  named_.clear();
  resolved_by_call_.clear();
  const RecorderGuard recording(*this);
  const Variable y = function(inputs);
  if (y.shape().rank() < 1 || y.shape()[0] != 1) {
    throw UnsupportedError(
        "unsupported_layer", fmt::format("'{}'", name),
        fmt::format("the first axis of the output must be the batch, got {} "
                    "for one sample",
                    y.shape().to_string()));
  }
  if (!opaque_ && value_of(y) >= 0) return y;

  const std::optional<Zeros> zeros = zeros_of(y);
  forget_since(before);

  Call noted;
  noted.name = name;
  noted.function = lasting();
  noted.inputs = read;
  // The output stays an expression of the call's result, as in the model.
  Expression known = autograd::expression_of(y);
  noted.affine =
      !known.second && !known.clipped() && known.first.t.shape() == y.shape();
  const QuantParams qparams = known.qparams;
  // A custom layer may return negative values in another call.
  const bool nonnegative = zeros && autograd::nonnegative(known);
  const Tensor result = Tensor::zeros(y.shape());
  if (!noted.affine) known = autograd::expression_of(result, nullptr);
  known.first.t = result;
  known.first.statistics = {};
  known.first.target = nullptr;
  known.first.nonnegative = nonnegative;
  known.qparams = qparams;
  noted.output = add_value({.shape = y.shape(),
                            .call = static_cast<int>(before.calls),
                            .qparams = {}},
                           result);
  if (zeros) {
    const int around = value_of(zeros->around);
    if (around >= 0) padded_values_[noted.output] = {around, zeros->pads};
  }
  graph_.calls.push_back(std::move(noted));
  return autograd::wrap("call", std::move(known));
}

// Returns the padding that produced y, if y is nothing but a padded tensor.
std::optional<Capture::Zeros> Capture::zeros_of(const Variable& y) const {
  const auto found = padded_.find(y.node()->value.raw());
  if (found == padded_.end()) return {};
  const Shape& x = found->second.around.shape;
  const Pads& p = found->second.pads;
  Shape with_zeros = x.with(-2, p.left + x[-2] + p.right);
  if (x.rank() == 4) with_zeros = with_zeros.with(1, p.top + x[1] + p.bottom);
  if (with_zeros != y.shape()) return {};
  return found->second;
}

CapturedGraph Capture::finish(std::span<const Variable> outputs) {
  for (const Variable& y : outputs) {
    const int value = value_of(y);
    if (value < 0) {
      throw InternalError("internal", "capture", "an output was not captured");
    }
    graph_.outputs.push_back(value);
  }
  // Tensors only served as names.
  for (Pointwise& p : graph_.pointwise) {
    p.e.first.t = {};
    p.e.first.target = nullptr;
    if (!p.e.second) continue;
    p.e.second->t = {};
    p.e.second->target = nullptr;
  }
  return std::move(graph_);
}

}  // namespace octet::inference
