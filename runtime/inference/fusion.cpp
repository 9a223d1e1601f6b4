#include "fusion.h"

#include <algorithm>
#include <utility>

#include "tensor/byte_codes.h"

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

// Replaces neighboring slices that make up a value.
void join_slices(const LoweredGraph& graph, std::vector<int>& parts) {
  for (size_t i = 0; i < parts.size(); ++i) {
    const int whole = at(graph.values, parts[i]).slice.of;
    if (whole < 0) continue;
    int64_t channel = 0;
    size_t end = i;
    for (; end < parts.size(); ++end) {
      const LoweredValue& part = at(graph.values, parts[end]);
      if (part.slice.of != whole || part.slice.first != channel) break;
      channel += part.shape[-1];
    }
    if (channel != at(graph.values, whole).shape[-1]) continue;
    const auto first = parts.begin() + static_cast<std::ptrdiff_t>(i);
    parts.erase(first + 1, parts.begin() + static_cast<std::ptrdiff_t>(end));
    parts[i] = whole;
  }
}

}  // namespace

LoweredGraph Fusion::run() {
  // Constants first, so that they are available to every epilogue.
  for (const bool constants : {true, false}) {
    for (const TraceNode& node : trace_.nodes()) {
      if ((node.constant() != nullptr) != constants) continue;
      values_[node.id] = (this->*op_row(node.op).fuse)(node);
    }
  }
  for (const uint64_t id : trace_.inputs) {
    graph_.inputs.push_back(value_of(id));
  }
  for (const uint64_t id : trace_.outputs) {
    graph_.outputs.push_back(value_of(id));
  }
  return std::move(graph_);
}

int Fusion::add_value(LoweredValue value) {
  graph_.values.push_back(std::move(value));
  return static_cast<int>(graph_.values.size()) - 1;
}

int Fusion::add_call(const TraceNode& node, Call call, bool sums) {
  call.name = node.layer;
  call.op = node.op;
  call.output = add_value({.shape = node.shape,
                           .call = static_cast<int>(graph_.calls.size()),
                           .sums = sums,
                           .qparams = {}});
  graph_.calls.push_back(std::move(call));
  return graph_.calls.back().output;
}

int Fusion::input(const TraceNode& node) {
  return add_value({.shape = node.shape, .qparams = {}});
}

// Ops that broadcast read the constant itself, others one copy per sample.
int Fusion::constant(const TraceNode& node) {
  const Tensor& value = *node.constant();
  constants_[node.id] =
      add_value({.shape = node.shape, .qparams = {}, .constant = value});
  Call call;
  call.forward = [value](std::span<const Tensor>, Tensor& y) {
    for (int64_t i = 0; i < y.shape()[0]; ++i) {
      Tensor sample = y.slice(i, 1);
      std::ranges::copy(value.f32(), sample.f32().begin());
    }
  };
  return add_call(node, std::move(call));
}

// Shares the buffer of its input.
int Fusion::reshape(const TraceNode& node) {
  const int x = value_of(node.inputs[0]);
  return add_value({.shape = node.shape,
                    .call = graph_.after(x),
                    .alias = x,
                    .qparams = {}});
}

int Fusion::expression(const TraceNode& node) {
  return value_of(*node.expression());
}

// The expression that an op consumes as its input.
Expression Fusion::expression_of(uint64_t id) const {
  const TraceNode& node = trace_.node(id);
  if (const Expression* e = node.expression()) return *e;
  Expression e;
  e.shape = node.shape;
  e.first.source = id;
  e.qparams = node.qparams;
  return e;
}

int Fusion::value_of(const Expression& e) {
  const int first = value_of(e.first.source);
  if (e.plain()) return first;
  if (!e.second && !e.first.scaled() && !e.clipped()) {
    return quantized(first, e.qparams);
  }
  const int second = e.second ? value_of(e.second->source) : -1;
  return graph_.evaluation(add_pointwise(e, first, second), e.shape, e.qparams);
}

// Channels of Q(x) are Q of the channels.
int Fusion::quantized(int value, const QuantParams& qparams) {
  const LoweredValue v = at(graph_.values, value);
  if (same_qparams(v.qparams, qparams)) return value;
  const bool expression = v.pointwise >= 0 && v.qparams.empty();
  const int result = graph_.evaluation(
      expression ? v.pointwise : graph_.plain(value), v.shape, qparams);
  if (v.slice.of >= 0 && qparams.scale.size() == 1) {
    const int whole = quantized(v.slice.of, qparams);
    at(graph_.values, result).slice = {whole, v.slice.first};
  }
  return result;
}

int Fusion::add_pointwise(const Expression& given, int first, int second) {
  Pointwise p;
  p.e = given;
  p.e.qparams = {};
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
void Fusion::fuse(Pointwise& p) {
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
  const Expression other = octet::inference::expression_of(rest, p.e.shape);
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
Fusion::Padded Fusion::padded_input(uint64_t id) {
  const Expression e = expression_of(id);
  const bool plain = !e.second && !e.first.scaled() && !e.clipped();
  const auto found =
      plain ? padded_.find(value_of(e.first.source)) : padded_.end();
  if (found == padded_.end()) return {value_of(e), {}};
  const auto& [base, pads] = found->second;
  if (e.qparams.empty()) return {base, pads};
  const QuantParams of_base = at(graph_.values, base).qparams;
  const bool known = of_base.empty() || same_qparams(of_base, e.qparams);
  const bool holds_zero = e.qparams.low <= 0 && e.qparams.high >= 0;
  if (!known || !holds_zero) return {value_of(e), {}};
  return {quantized(base, e.qparams), pads};
}

int Fusion::linear(const TraceNode& node) {
  if (node.forward) return unfused(node);
  const auto [x, pads] = padded_input(node.inputs[0]);
  Call call;
  call.linear = std::get<LinearCall>(node.attributes);
  call.inputs = {x};
  call.pads = pads;
  return add_call(node, std::move(call), true);
}

int Fusion::unfused(const TraceNode& node) {
  if (node.expression() != nullptr) return expression(node);
  Call call;
  call.forward = node.forward;
  call.attributes = node.attributes;
  if (const auto* layer = std::get_if<LayerCall>(&node.attributes)) {
    call.layer = *layer;
  }
  for (const uint64_t id : node.inputs) {
    const auto raw = constants_.find(id);
    const bool repeats = node.broadcasts && raw != constants_.end();
    call.inputs.push_back(repeats      ? raw->second
                          : call.layer ? value_of(expression_of(id))
                                       : value_of(id));
  }
  return add_call(node, std::move(call));
}

// Of channels: its parts are written to slices of one buffer.
int Fusion::concatenation(const TraceNode& node) {
  const Shape pixels = node.shape.with(-1, 1);
  LoweredValue v{.shape = node.shape, .qparams = {}};
  for (const uint64_t id : node.inputs) {
    if (trace_.node(id).shape.with(-1, 1) != pixels) return unfused(node);
    const int part = value_of(id);
    v.call = std::max(v.call, graph_.after(part));
    v.parts.push_back(part);
  }
  join_slices(graph_, v.parts);
  return add_value(std::move(v));
}

// Convolutions and pools read the channels in the storage of the sliced value;
// other consumers read a copy.
int Fusion::slice(const TraceNode& node) {
  const int value = unfused(node);
  if (const auto* s = std::get_if<ChannelSlice>(&node.attributes)) {
    at(graph_.values, value).slice = {value_of(node.inputs[0]), s->first};
  }
  return value;
}

int Fusion::zero_padding(const TraceNode& node) {
  const int value = unfused(node);
  if (const Pads* pads = std::get_if<Pads>(&node.attributes)) {
    padded_[value] = {value_of(node.inputs[0]), *pads};
  }
  return value;
}

int Fusion::max_pool(const TraceNode& node) {
  const int value = unfused(node);
  const auto [x, pads] = padded_input(node.inputs[0]);
  graph_.calls.back().pool = {std::get<kernels::MaxPool>(node.attributes), x,
                              pads};
  return value;
}

// Enlargement that repeats pixels commutes with quantization.
int Fusion::resize(const TraceNode& node) {
  const int value = unfused(node);
  const auto* pixels = std::get_if<NearestPixels>(&node.attributes);
  if (pixels != nullptr) {
    graph_.calls.back().pool = {*pixels, value_of(node.inputs[0]), {}};
  }
  return value;
}

int Fusion::compute(Pointwise p, const Shape& shape) {
  return graph_.evaluation(graph_.add(std::move(p)), shape, {});
}

int Fusion::activation(const TraceNode& node) {
  const int base = value_of(node.inputs[0]);
  const LoweredValue v = at(graph_.values, base);
  const bool follows = v.pointwise >= 0 && v.qparams.empty() &&
                       at(graph_.pointwise, v.pointwise).expression_only();
  const int of = follows ? v.pointwise : graph_.plain(base);
  Pointwise p = at(graph_.pointwise, of);
  p.function = std::get<kernels::Activation>(node.attributes);
  return compute(std::move(p), node.shape);
}

// With a number per channel and sample: a*t - 0, which is bit-identical to the
// product.
int Fusion::product(const TraceNode& node) {
  const int64_t channels = node.shape[-1];
  for (const size_t i : {size_t{0}, size_t{1}}) {
    const uint64_t x = node.inputs[i];
    const uint64_t by = node.inputs[1 - i];
    const Shape& factors = trace_.node(by).shape;
    if (node.shape.rank() < 2 || trace_.node(x).shape != node.shape ||
        factors.rank() != node.shape.rank() || factors.size() != channels ||
        factors[-1] != channels) {
      continue;
    }
    Pointwise p;
    p.e.shape = node.shape;
    p.e.first.b = Tensor::full({channels}, -0.0f);
    p.first = value_of(x);
    p.multiplier = value_of(by);
    p.after = std::max(graph_.after(p.first), graph_.after(p.multiplier));
    return compute(std::move(p), node.shape);
  }
  return unfused(node);
}

}  // namespace octet::inference
