// Functions and operators of formulas.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <octet/runtime/detail/printable.h>
#include <octet/runtime/error.h>

#include "formula_terms.h"
#include "onnx/check/proto_limits.h"

namespace octet::io::formula {
namespace {

double arithmetic(std::string_view op, double a, double b) {
  if (op == "+") return a + b;
  if (op == "-") return a - b;
  if (op == "*") return a * b;
  if (op == "/") return a / b;
  if (op == "%") return std::fmod(a, b);
  if (op == "==") return a == b ? 1 : 0;
  if (op == "!=") return a != b ? 1 : 0;
  if (op == "<=") return a <= b ? 1 : 0;
  if (op == ">=") return a >= b ? 1 : 0;
  return (op == "<" ? a < b : a > b) ? 1 : 0;
}

/// Quotients are rounded down.
Integers elementwise(const FormulaGraph& graph, std::string_view op,
                     const Integers& a, const Integers& b) {
  if (a.size() != b.size()) {
    graph.refuse(
        fmt::format("lists must have the same length, got [{}] and "
                    "[{}]",
                    fmt::join(a, ","), fmt::join(b, ",")));
  }
  Integers result;
  for (size_t i = 0; i < a.size(); ++i) {
    result.push_back(whole(std::floor(
        arithmetic(op, static_cast<double>(a[i]), static_cast<double>(b[i])))));
  }
  return result;
}

std::string message(const Arguments& parts, size_t first) {
  std::string text;
  for (size_t i = first; i < parts.size(); ++i) {
    if (!text.empty()) text += ' ';
    if (const auto* words = std::get_if<std::string>(&parts[i])) {
      text += printable(*words);
    } else if (const auto* list = std::get_if<Integers>(&parts[i])) {
      text += fmt::format("[{}]", fmt::join(*list, ","));
    } else {
      text += fmt::format("{}", std::get<double>(parts[i]));
    }
  }
  return text;
}

double axis(const FormulaGraph& graph, double axis, double rank) {
  if (axis < -rank || axis >= rank) {
    graph.refuse(fmt::format("axis must be from {} to {}, got {}", -rank,
                             rank - 1, axis));
  }
  return axis < 0 ? axis + rank : axis;
}

const Tensor& known(const GraphValue& value) {
  if (!value.tensor) throw Unknown();
  return *value.tensor;
}

double only_element(const FormulaGraph& graph, const GraphValue& value) {
  const Tensor& x = known(value);
  if (x.size() != 1) {
    graph.refuse("input must be a single number, got " + x.shape().to_string());
  }
  if (x.dtype() == DType::i64) return static_cast<double>(x.data<int64_t>()[0]);
  if (x.dtype() == DType::i32) return x.data<int32_t>()[0];
  if (x.dtype() == DType::boolean) return x.data<bool>()[0] ? 1 : 0;
  return x.f32()[0];
}

/// An operator with the attributes of the node, in an opset.
GraphValue own(FormulaGraph& graph, const std::string& op, double opset,
               const GraphValues& inputs) {
  onnx::NodeProto node = graph.node();
  node.clear_domain();
  set_operator(node, op);
  node.clear_input();
  node.clear_output();
  return graph.add(std::move(node), inputs, whole(opset));
}

/// Whether a query sees no key: a row of a mask of bool or float32.
bool hides_row(const Tensor& mask) {
  const int64_t row = mask.shape().rank() == 0 ? 1 : mask.shape()[-1];
  const auto any = [&](auto values, auto is_seen) {
    for (int64_t i = 0; i < mask.size(); i += row) {
      const auto* first = values.data() + i;
      if (std::none_of(first, first + row, is_seen)) return true;
    }
    return false;
  };
  constexpr float kLowest = std::numeric_limits<float>::lowest();
  return mask.dtype() == DType::boolean
             ? any(mask.data<bool>(), [](bool v) { return v; })
             : any(mask.f32(), [](float v) { return v > kLowest; });
}

/// A call of a function.
struct Call {
  FormulaGraph& graph;
  const std::string& name;
  const Arguments& terms;

  bool is(std::string_view function) const { return name == function; }
  double number(size_t i) const { return std::get<double>(terms.at(i)); }
  GraphValue value(size_t i) const { return value_of(graph, terms.at(i)); }
  const Integers& list(size_t i) const {
    return std::get<Integers>(terms.at(i));
  }
  const std::string& text(size_t i) const {
    return std::get<std::string>(terms.at(i));
  }
  /// A number of axes.
  size_t count(size_t i) const {
    return static_cast<size_t>(std::clamp(number(i), 0.0, 64.0));
  }
};

using Result = std::optional<Argument>;  // none: another function

Result of_numbers(const Call& c) {
  if (c.is("floor")) return std::floor(c.number(0));
  if (c.is("min")) return std::min(c.number(0), c.number(1));
  if (c.is("max")) return std::max(c.number(0), c.number(1));
  if (c.is("axis")) return axis(c.graph, c.number(0), c.number(1));
  if (c.is("repeat")) return Integers(c.count(1), whole(c.number(0)));
  if (!c.is("range")) return {};
  Integers all;  // [first, end)
  const int64_t first = whole(c.number(0));
  for (int64_t i = first; static_cast<double>(i) < c.number(1); ++i) {
    all.push_back(i);
  }
  return all;
}

Result of_lists(const Call& c) {
  if (c.is("at")) {
    const auto size = static_cast<double>(c.list(0).size());
    const double at = axis(c.graph, c.number(1), size);
    return static_cast<double>(c.list(0)[static_cast<size_t>(at)]);
  }
  if (c.is("part")) {  // [first, end)
    const Integers& list = c.list(0);
    const size_t end =
        c.terms.size() > 2 ? std::min(c.count(2), list.size()) : list.size();
    return Integers(list.data() + std::min(c.count(1), end), list.data() + end);
  }
  if (c.is("places")) {  // where a list has a number
    Integers places;
    for (size_t i = 0; i < c.list(0).size(); ++i) {
      if (c.list(0)[i] == whole(c.number(1))) {
        places.push_back(static_cast<int64_t>(i));
      }
    }
    return places;
  }
  if (c.is("size")) return static_cast<double>(c.list(0).size());
  if (c.is("product")) {
    return std::accumulate(c.list(0).begin(), c.list(0).end(), 1.0,
                           std::multiplies<>());
  }
  return {};
}

/// Constants, and functions of elements that must be known.
Result of_elements(const Call& c) {
  if (c.is("int")) {
    return c.graph.constant(Tensor::of<int64_t>({}, {whole(c.number(0))}));
  }
  if (c.is("floats")) {
    Tensor list(Shape{std::ssize(c.terms)});
    for (size_t i = 0; i < c.terms.size(); ++i) {
      list.f32()[i] = static_cast<float>(c.number(i));
    }
    return c.graph.constant(list);
  }
  if (c.is("number")) return only_element(c.graph, c.value(0));
  if (c.is("has_whole_steps")) {  // whether factors below 1 are 1 / n
    const GraphValue value = c.value(0);
    const bool whole = std::ranges::all_of(known(value).f32(), [](float x) {
      return x >= 1 || std::nearbyint(1 / x) == 1 / x;
    });
    return whole ? 1.0 : 0.0;
  }
  if (!c.is("smallest") && !c.is("largest")) return {};
  if (std::holds_alternative<Integers>(c.terms.at(0))) {
    const Integers& list = c.list(0);
    if (list.empty()) return 0.0;
    return static_cast<double>(c.is("smallest") ? std::ranges::min(list)
                                                : std::ranges::max(list));
  }
  const GraphValue value = c.value(0);
  const auto x = known(value).f32();
  if (x.empty()) return 1.0;
  return double{c.is("smallest") ? std::ranges::min(x) : std::ranges::max(x)};
}

Result of_values(const Call& c) {
  if (c.is("has")) {
    const auto* value = std::get_if<GraphValue>(&c.terms.at(0));
    return value == nullptr || *value ? 1.0 : 0.0;
  }
  if (c.is("dims")) return c.graph.dims(c.value(0));
  if (c.is("rank")) {
    return static_cast<double>(c.graph.dims(c.value(0)).size());
  }
  if (c.is("rank_if_known")) {
    try {
      return static_cast<double>(c.graph.dims(c.value(0)).size());
    } catch (const Unknown&) {
      return 0.0;
    }
  }
  if (c.is("known")) {
    const GraphValue value = c.value(0);
    (void)known(value);
    return value;
  }
  if (c.is("is_known")) return c.value(0).tensor ? 1.0 : 0.0;
  if (c.is("hides_row")) return hides_row(known(c.value(0))) ? 1.0 : 0.0;
  if (c.is("type")) return static_cast<double>(c.graph.type(c.value(0)));
  if (!c.is("type_named")) return {};
  onnx::TensorProto::DataType type = onnx::TensorProto::UNDEFINED;
  (void)onnx::TensorProto::DataType_Parse(c.text(0), &type);
  return static_cast<double>(type);
}

/// own(operator, opset, inputs) is an operator with the node's attributes.
Result of_node(const Call& c) {
  const onnx::NodeProto& node = c.graph.node();
  if (c.is("importing")) return c.graph.is_import() ? 1.0 : 0.0;
  if (c.is("inputs")) return static_cast<double>(node.input_size());
  if (c.is("outputs")) return static_cast<double>(node.output_size());
  if (c.is("tail")) return node.op_type().substr(c.count(0));
  if (c.is("own")) {
    return own(c.graph, c.text(0), c.number(1), values_of(c.graph, c.terms, 2));
  }
  if (!c.is("own_of_threes")) return {};
  // The formula `text(2)` of each three inputs from one on.
  GraphValues inputs;
  for (size_t i = c.count(3); std::cmp_less(i + 2, node.input_size()); i += 3) {
    const Arguments three{c.graph.input(i), c.graph.input(i + 1),
                          c.graph.input(i + 2)};
    inputs.push_back(value_of(
        c.graph, call_formula(c.graph, *find_function(c.text(2)), three)));
  }
  return own(c.graph, c.text(0), c.number(1), inputs);
}

Result of_checks(const Call& c) {
  if (c.is("keep")) throw Unchanged();
  if (!c.is("require") && !c.is("support")) return {};
  if (c.number(0) > 0) return 1.0;
  if (c.is("require")) c.graph.refuse(message(c.terms, 1));
  c.graph.unsupported(message(c.terms, 1));
  return {};
}

}  // namespace

int64_t whole(double number) {
  constexpr double kMost = 9.2e18;  // fits int64
  return std::isnan(number)
             ? 0
             : static_cast<int64_t>(std::clamp(number, -kMost, kMost));
}

void set_operator(onnx::NodeProto& node, const std::string& name) {
  constexpr std::string_view kInternal = "octet.";
  const bool is_internal = name.starts_with(kInternal);
  if (is_internal) node.set_domain("octet");
  node.set_op_type(is_internal ? name.substr(kInternal.size()) : name);
}

GraphValue value_of(FormulaGraph& graph, const Argument& term) {
  if (const auto* value = std::get_if<GraphValue>(&term)) return *value;
  if (const auto* list = std::get_if<Integers>(&term)) {
    return graph.constant(Tensor::of<int64_t>({std::ssize(*list)},
                                              std::span<const int64_t>(*list)));
  }
  return graph.constant(
      Tensor::scalar(static_cast<float>(std::get<double>(term))));
}

GraphValues values_of(FormulaGraph& graph, const Arguments& terms,
                      size_t first) {
  GraphValues values;
  for (size_t i = first; i < terms.size(); ++i) {
    values.push_back(value_of(graph, terms[i]));
  }
  return values;
}

Argument apply(FormulaGraph& graph, std::string_view op, const Argument& a,
               const Argument& b) {
  const auto* x = std::get_if<double>(&a);
  const auto* y = std::get_if<double>(&b);
  if (x != nullptr && y != nullptr) return arithmetic(op, *x, *y);
  if (op == "==" || op == "!=") return (a == b) == (op == "==") ? 1.0 : 0.0;
  if (const auto* list = std::get_if<Integers>(&a)) {
    if (y != nullptr) {
      return elementwise(graph, op, *list, Integers(list->size(), whole(*y)));
    }
    if (const auto* other = std::get_if<Integers>(&b)) {
      return elementwise(graph, op, *list, *other);
    }
  }
  const bool negates = op == "-" && x != nullptr && *x == 0;
  onnx::NodeProto node;
  node.set_op_type(negates     ? "Neg"
                   : op == "+" ? "Add"
                   : op == "-" ? "Sub"
                   : op == "*" ? "Mul"
                               : "Div");
  const GraphValues inputs =
      negates ? GraphValues{value_of(graph, b)}
              : GraphValues{value_of(graph, a), value_of(graph, b)};
  return graph.add(std::move(node), inputs, kLastOpset);
}

Argument call_function(FormulaGraph& graph, const std::string& name,
                       const Arguments& a) {
  for (const auto group :
       {of_numbers, of_lists, of_elements, of_values, of_node, of_checks}) {
    if (Result result = group({graph, name, a})) return std::move(*result);
  }
  throw InternalError("internal", "formula", "unknown function " + name);
}

}  // namespace octet::io::formula
