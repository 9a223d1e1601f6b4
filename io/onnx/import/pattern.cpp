#include "pattern.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <string_view>
#include <utility>

#include "onnx/graph/attributes.h"

namespace octet::io::importing {

namespace pattern {
namespace {

/// Joins nested sums, or products, into one term.
Term flat(Term::Kind kind, const Term& a, const Term& b) {
  std::vector<Term> operands;
  for (const Term* term : {&a, &b}) {
    if (term->kind == kind) {
      operands.insert(operands.end(), term->operands().begin(),
                      term->operands().end());
    } else {
      operands.push_back(*term);
    }
  }
  return {kind, "", std::move(operands)};
}

}  // namespace

Term Term::with(const char* attribute, double wanted, double otherwise) const {
  Term result = *this;
  result.attributes.push_back({attribute, wanted, otherwise});
  return result;
}

Term operator+(const Term& a, const Term& b) {
  return flat(Term::Kind::sum, a, b);
}
Term operator*(const Term& a, const Term& b) {
  return flat(Term::Kind::product, a, b);
}
Term operator-(const Term& a, const Term& b) { return node("Sub", a, b); }
Term operator/(const Term& a, const Term& b) {
  return b.kind == Term::Kind::number ? a * (1 / b.number) : node("Div", a, b);
}
Term either(std::vector<Term> terms) {
  return {Term::Kind::either, "", std::move(terms)};
}

}  // namespace pattern

using pattern::Term;

namespace {

/// Numbers are float32 in files, some with seven decimal digits.
bool is_near(double found, double expected) {
  return std::abs(found - expected) <= 1e-6 * std::abs(expected);
}

bool has_attributes(const OnnxNode& node, const Term& term) {
  return std::ranges::all_of(
      term.attributes, [&](const Term::Attribute& wanted) {
        const auto* given = find_attribute(node.proto, wanted.name);
        const double found = given == nullptr ? wanted.otherwise
                             : given->type() == onnx::AttributeProto::INT
                                 ? static_cast<double>(given->i())
                                 : static_cast<double>(given->f());
        return is_near(found, wanted.value);
      });
}

bool is_reduction(const Term& term) { return term.name.starts_with("Reduce"); }

bool is_commutative(const Term& term) {
  constexpr std::array<std::string_view, 3> kOps{"Equal", "Max", "Min"};
  return term.operands().size() == 2 &&
         std::ranges::find(kOps, term.name) != kOps.end();
}

/// Returns the number of inputs without absent ones at the end.
size_t input_count(const OnnxNode& node) {
  int count = node.proto.input_size();
  while (count > 0 && node.proto.input(count - 1).empty()) --count;
  return static_cast<size_t>(count);
}

/// Returns the axes of a reduction that keeps them with size 1.
std::optional<std::vector<int64_t>> kept_axes(const OnnxGraph& graph,
                                              const OnnxNode& node) {
  if (integer_of(node.proto, "keepdims", 1) == 0) return std::nullopt;
  std::vector<int64_t> axes = integers_of(node.proto, "axes");
  if (node.proto.input_size() > 1) {
    const Constant* constant = graph.constant(node.proto.input(1));
    if (constant == nullptr || constant->value.dtype() != DType::i64) {
      return std::nullopt;
    }
    const auto values = constant->value.data<int64_t>();
    axes.assign(values.begin(), values.end());
  }
  if (axes.empty()) return std::nullopt;
  return axes;
}

}  // namespace

const std::string& PatternMatch::value(std::string_view variable) const {
  static const std::string kNone;
  const auto found =
      std::ranges::find(values, variable, &decltype(values)::value_type::first);
  return found == values.end() ? kNone : *found->second;
}

std::optional<float> PatternMatch::scalar(std::string_view variable) const {
  const auto found = std::ranges::find(scalars, variable,
                                       &decltype(scalars)::value_type::first);
  if (found == scalars.end()) return std::nullopt;
  return found->second;
}

const OnnxNode* PatternMatch::part(const char* op) const {
  const auto found = std::ranges::find_if(
      parts, [&](const OnnxNode* node) { return is_op(*node, op); });
  return found == parts.end() ? nullptr : *found;
}

const PatternMatcher::KnownValue& PatternMatcher::find_value(
    const std::string& name) {
  const auto address = reinterpret_cast<uintptr_t>(&name);
  KnownValue& known = known_[address / sizeof(name) % known_.size()];
  if (known.name != &name) {
    known = {&name, graph_.producer(name), graph_.constant(name)};
  }
  return known;
}

std::optional<double> PatternMatcher::number(const std::string& value) {
  const Constant* constant = find_value(value).constant;
  if (constant == nullptr || constant->value.size() != 1) return std::nullopt;
  const Tensor& tensor = constant->value;
  if (tensor.dtype() == DType::f32) return tensor.f32()[0];
  if (tensor.dtype() == DType::i64) {
    return static_cast<double>(tensor.data<int64_t>()[0]);
  }
  return std::nullopt;
}

bool PatternMatcher::is_closed() const {
  return std::ranges::all_of(match_.parts, [&](const OnnxNode* part) {
    return part == match_.parts.front() ||
           graph_.is_consumed_only_by(part->proto.output(0), match_.parts);
  });
}

bool PatternMatcher::find(
    const Term& term, OnnxNode& anchor,
    const std::function<bool(const PatternMatch&)>& accept) {
  if (anchor.proto.output_size() != 1) return false;
  match_.values.clear();
  match_.scalars.clear();
  match_.axes.reset();
  match_.parts.clear();
  const bool found = match(term, anchor.proto.output(0), [&] {
    return match_.parts.size() > 1 && is_closed() && accept(match_);
  });
  if (found) known_ = {};  // the graph has changed
  return found;
}

bool PatternMatcher::match(const Term& term, const std::string& value,
                           const Next& next) {
  ++steps_;
  if (value.empty()) return false;
  switch (term.kind) {
    case Term::Kind::node:
      return match_node(term, value, next);
    case Term::Kind::sum:
    case Term::Kind::product:
      return match_all(term, (1U << term.operands().size()) - 1, value, next);
    case Term::Kind::either:
      return std::ranges::any_of(term.operands(), [&](const Term& each) {
        return match(each, value, next);
      });
    case Term::Kind::number: {
      const auto found = number(value);
      return found && is_near(*found, term.number) && next();
    }
    case Term::Kind::scalar:
      return match_scalar(term, value, next);
    case Term::Kind::value:
    case Term::Kind::any:
    case Term::Kind::tensor:
      return match_variable(term, value, next);
  }
  return false;
}

bool PatternMatcher::match_scalar(const Term& term, const std::string& value,
                                  const Next& next) {
  const auto found = number(value);
  if (!found) return false;
  const auto scalar = static_cast<float>(*found);
  if (const auto bound = match_.scalar(term.name)) {
    return *bound == scalar && next();
  }
  match_.scalars.emplace_back(term.name, scalar);
  if (next()) return true;
  match_.scalars.pop_back();
  return false;
}

bool PatternMatcher::match_variable(const Term& term, const std::string& value,
                                    const Next& next) {
  const Constant* constant = find_value(value).constant;
  if (term.kind == Term::Kind::value && constant != nullptr) return false;
  if (term.kind == Term::Kind::tensor &&
      (constant == nullptr || constant->value.dtype() != DType::f32)) {
    return false;
  }
  const std::string& bound = match_.value(term.name);
  if (!bound.empty()) return bound == value && next();
  match_.values.emplace_back(term.name, &value);
  if (next()) return true;
  match_.values.pop_back();
  return false;
}

bool PatternMatcher::with_part(OnnxNode& node, const Next& next) {
  if (node.proto.output_size() != 1) return false;
  const bool known =
      std::ranges::find(match_.parts, &node) != match_.parts.end();
  if (!known) match_.parts.push_back(&node);
  if (next()) return true;
  if (!known) match_.parts.pop_back();
  return false;
}

bool PatternMatcher::match_node(const Term& term, const std::string& value,
                                const Next& next) {
  OnnxNode* node = find_value(value).producer;
  if (node == nullptr || !is_op(*node, term.name.c_str()) ||
      !has_attributes(*node, term)) {
    return false;
  }
  const auto operands = [&] {
    return match_operands(term, *node, 0, false, next) ||
           (is_commutative(term) && match_operands(term, *node, 0, true, next));
  };
  if (!is_reduction(term)) {
    return input_count(*node) == term.operands().size() &&
           with_part(*node, operands);
  }
  auto axes = kept_axes(graph_, *node);
  if (!axes || (match_.axes && *match_.axes != *axes)) return false;
  std::swap(match_.axes, axes);
  if (with_part(*node, operands)) return true;
  std::swap(match_.axes, axes);
  return false;
}

bool PatternMatcher::match_operands(const Term& term, const OnnxNode& node,
                                    size_t first, bool swapped,
                                    const Next& next) {
  if (first == term.operands().size()) return next();
  const auto input = static_cast<int>(swapped ? 1 - first : first);
  return match(term.operands()[first], node.proto.input(input), [&] {
    return match_operands(term, node, first + 1, swapped, next);
  });
}

// `operands` is the set of operands of a sum or product that `value` combines.
bool PatternMatcher::match_all(const Term& term, unsigned operands,
                               const std::string& value, const Next& next) {
  if (std::has_single_bit(operands)) {
    return match(
        term.operands()[static_cast<size_t>(std::countr_zero(operands))], value,
        next);
  }
  ++steps_;
  OnnxNode* node = find_value(value).producer;
  if (node == nullptr || node->proto.input_size() != 2) return false;
  const bool sum = term.kind == Term::Kind::sum;
  if (is_op(*node, sum ? "Add" : "Mul")) {
    return with_part(*node,
                     [&] { return match_split(term, operands, *node, next); });
  }
  if (is_op(*node, sum ? "Sub" : "Div")) {
    return with_part(
        *node, [&] { return match_inverse(term, operands, *node, next); });
  }
  return false;
}

bool PatternMatcher::match_split(const Term& term, unsigned operands,
                                 const OnnxNode& node, const Next& next) {
  for (unsigned left = (operands - 1) & operands; left != 0;
       left = (left - 1) & operands) {
    const bool found = match_all(term, left, node.proto.input(0), [&] {
      return match_all(term, operands ^ left, node.proto.input(1), next);
    });
    if (found) return true;
  }
  return false;
}

// x - k as x + -k, and x / k as x * (1 / k).
bool PatternMatcher::match_inverse(const Term& term, unsigned operands,
                                   const OnnxNode& node, const Next& next) {
  const auto k = number(node.proto.input(1));
  if (!k) return false;
  const double inverse = term.kind == Term::Kind::sum ? -*k : 1 / *k;
  for (size_t i = 0; i < term.operands().size(); ++i) {
    const Term& operand = term.operands()[i];
    const unsigned bit = 1U << i;
    if ((operands & bit) != 0 && operand.kind == Term::Kind::number &&
        is_near(inverse, operand.number) &&
        match_all(term, operands ^ bit, node.proto.input(0), next)) {
      return true;
    }
  }
  return false;
}

}  // namespace octet::io::importing
