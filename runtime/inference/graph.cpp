#include "graph.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include <fmt/format.h>

#include <octet/runtime/detail/fnv1a.h>

#include "ops/weights.h"

namespace octet::inference {
namespace {

using autograd::Expression;
using autograd::Term;

bool same_bits(const Tensor& a, const Tensor& b) {
  if (a.empty() || b.empty()) return a.empty() && b.empty();
  return a.shape() == b.shape() &&
         std::memcmp(a.raw(), b.raw(), static_cast<size_t>(a.bytes())) == 0;
}

bool same_term(const Term& a, const Term& b) {
  return same_bits(a.a, b.a) && same_bits(a.b, b.b) && a.low == b.low &&
         a.high == b.high && same_qparams(a.qparams, b.qparams);
}

// Compares structure only; tensors may differ.
bool same_form(const Expression& a, const Expression& b) {
  return a.shape == b.shape && same_term(a.first, b.first) &&
         a.second.has_value() == b.second.has_value() &&
         (!a.second || same_term(*a.second, *b.second)) && a.low == b.low &&
         a.high == b.high;
}

// Hash key of find(): equal for expressions of the same values and structure.
uint64_t key_of(const Pointwise& p) {
  Fnv1a hash;
  const auto number = [&](auto value) {
    value += 0;  // -0 is 0
    hash.add(std::as_bytes(std::span(&value, 1)));
  };
  const auto tensor = [&](const Tensor& t) {
    if (!t.empty()) hash.add(std::as_bytes(t.f32()));
  };
  number(p.first);
  number(p.second);
  number(p.e.low);
  number(p.e.high);
  tensor(p.e.first.a);
  tensor(p.e.first.b);
  if (p.e.second) {
    tensor(p.e.second->a);
    tensor(p.e.second->b);
    number(p.e.second->low);
    number(p.e.second->high);
  }
  return hash.value();
}

}  // namespace

int LoweredGraph::after(int value) const {
  const LoweredValue& v = at(values, value);
  return v.pointwise < 0 ? v.call : at(pointwise, v.pointwise).after;
}

int LoweredGraph::add(Pointwise p) {
  const int id = static_cast<int>(pointwise.size());
  if (p.expression_only()) expressions_[key_of(p)].push_back(id);
  pointwise.push_back(std::move(p));
  return id;
}

int LoweredGraph::find(const Pointwise& p) const {
  const auto found = expressions_.find(key_of(p));
  if (found == expressions_.end()) return -1;
  for (const int i : found->second) {
    const Pointwise& known = at(pointwise, i);
    if (known.first == p.first && known.second == p.second &&
        same_form(known.e, p.e)) {
      return i;
    }
  }
  return -1;
}

int LoweredGraph::plain(int value) {
  const LoweredValue& v = at(values, value);
  Pointwise p;
  p.e.shape = v.shape;
  p.first = value;
  if (const auto found = expressions_.find(key_of(p));
      found != expressions_.end()) {
    for (const int i : found->second) {
      const Pointwise& known = at(pointwise, i);
      if (known.first == value && known.plain()) return i;
    }
  }
  p.after = after(value);
  p.fusable = v.sums;
  if (v.sums) p.sums = value;
  return add(std::move(p));
}

const std::vector<int>& LoweredGraph::evaluations(int pointwise_of) const {
  static const std::vector<int> kNone;
  const auto found = evaluations_.find(pointwise_of);
  return found == evaluations_.end() ? kNone : found->second;
}

int LoweredGraph::evaluation(int pointwise_of, const Shape& shape,
                             const QuantParams& qparams) {
  std::vector<int>& known = evaluations_[pointwise_of];
  for (const int i : known) {
    const LoweredValue& v = at(values, i);
    if (v.pointwise == pointwise_of && same_qparams(v.qparams, qparams))
      return i;
  }
  known.push_back(static_cast<int>(values.size()));
  values.push_back(
      {.shape = shape, .pointwise = pointwise_of, .qparams = qparams});
  return known.back();
}

std::vector<bool> LoweredGraph::read_calls() const {
  std::vector<bool> read(values.size());
  std::vector<int> open;
  const auto mark = [&](int first) {
    open.push_back(first);
    while (!open.empty()) {
      const int value = open.back();
      open.pop_back();
      if (read[static_cast<size_t>(value)]) continue;
      read[static_cast<size_t>(value)] = true;
      const LoweredValue& v = at(values, value);
      if (v.alias >= 0) open.push_back(v.alias);
      open.insert(open.end(), v.parts.begin(), v.parts.end());
      const int i = v.pointwise;
      if (i < 0) continue;
      const Pointwise& p = at(pointwise, i);
      for (const int next : {p.first, p.second, p.multiplier}) {
        if (next >= 0) open.push_back(next);
      }
    }
  };
  for (const int output : outputs) mark(output);
  std::vector<bool> result(calls.size());
  for (size_t i = calls.size(); i-- > 0;) {
    result[i] = read[static_cast<size_t>(calls[i].output)];
    if (!result[i]) continue;
    for (const int input : calls[i].inputs) mark(input);
  }
  return result;
}

std::string LoweredGraph::to_string() const {
  const auto name = [&](int value) {
    const LoweredValue& v = at(values, value);
    const std::string codes =
        v.qparams.empty()
            ? ""
            : fmt::format(" in [{},{}]", v.qparams.low, v.qparams.high);
    if (v.pointwise < 0) return fmt::format("%{}{}", value, codes);
    const Pointwise& p = at(pointwise, v.pointwise);
    return fmt::format("f(%{}{}){}", p.first,
                       p.second < 0 ? "" : fmt::format(", %{}", p.second),
                       codes);
  };
  std::string text;
  for (size_t i = 0; i < values.size(); ++i) {
    if (values[i].parts.empty()) continue;
    std::vector<std::string> parts;
    for (const int part : values[i].parts) parts.push_back(name(part));
    text +=
        fmt::format("  {} = concatenate({}) {}\n", name(static_cast<int>(i)),
                    fmt::join(parts, ", "), values[i].shape.to_string());
  }
  for (const Call& call : calls) {
    std::vector<std::string> read;
    for (const int input : call.inputs) read.push_back(name(input));
    text += fmt::format("  {} = {}({}) {}  '{}'\n", name(call.output), call.op,
                        fmt::join(read, ", "),
                        at(values, call.output).shape.to_string(), call.name);
  }
  return text;
}

}  // namespace octet::inference
