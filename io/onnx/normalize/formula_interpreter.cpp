// Interprets formulas while parsing them. A formula of the table is
//
//   Operator(input, input = default; attribute = default) =
//     name = term; name = term; condition(name); output, output
//
// Terms are numbers, 'texts', [lists of integers] and values, combined by
// * / % + - == != <= >= < > and calls: Op(a, b, attribute: c) adds a node,
// other names are formulas of the table or functions (formula_functions.cpp):
//
//   require(c, texts...), support(c, texts...)  throw FormatError,
//       UnsupportedError unless c > 0
//   keep()             leaves the node unchanged
//   if(c, a, b)        evaluates a or b
//   has(x), known(x)   whether x is given; in import, whether it is constant
//   dims(x), rank(x), type(x)
//   at(l, i), part(l, first, end), places(l, n), size(l), product(l),
//   range(a, b), repeat(n, k)                   lists
//   int(n), floats(...), number(x)              constants
//   this(...)          the operator itself; own(op, opset, ...) another one
//                      with the node's attributes
//
// Numbers are doubles, which are exact for sizes.
#include <array>
#include <cstdlib>
#include <map>
#include <utility>

#include <fmt/format.h>

#include <octet/runtime/error.h>

#include "formula_terms.h"
#include "onnx/check/proto_limits.h"
#include "onnx/graph/attributes.h"
#include "onnx/reference/constants.h"

namespace octet::io::formula {
namespace {

class Interpreter {
 public:
  Interpreter(FormulaGraph& graph, std::string_view text)
      : graph_(graph), text_(text) {
    while (!accept("(")) ++at_;
  }

  /// Binds the parameters to the inputs and attributes of the node.
  GraphValues outputs_of_node() {
    bool attributes = false;
    for (size_t input = 0; !accept(")"); accept(",")) {
      attributes = accept(";") || attributes;
      const std::string parameter = name();
      Argument given =
          attributes ? attribute(parameter) : graph_.input(input++);
      const auto* value = std::get_if<GraphValue>(&given);
      const bool missing = value != nullptr && !*value;
      if (accept("=")) {
        Argument otherwise = evaluate_if(missing);
        if (missing) given = std::move(otherwise);
      }
      names_[parameter] = std::move(given);
    }
    GraphValues values{value_of(graph_, body())};
    // Outputs that the node lacks are not computed.
    while (std::cmp_less(values.size(), graph_.node().output_size()) &&
           accept(",")) {
      values.push_back(value_of(graph_, term()));
    }
    return values;
  }

  Argument result_of(const Arguments& arguments) {
    for (const Argument& argument : arguments) {
      names_[name()] = argument;
      accept(",");
    }
    expect(")");
    return body();
  }

 private:
  bool accept(std::string_view symbol) {
    while (at_ < text_.size() && std::isspace(text_[at_]) != 0) ++at_;
    if (!text_.substr(at_).starts_with(symbol)) return false;
    at_ += symbol.size();
    return true;
  }
  void expect(std::string_view symbol) {
    if (accept(symbol)) return;
    throw InternalError(
        "internal", "formula",
        fmt::format("expected {} before '{}'", symbol, text_.substr(at_, 30)));
  }
  /// Returns a name or number; "" before other symbols.
  std::string name() {
    accept("");
    const size_t first = at_;
    const auto is_part = [&](char c) {
      return std::isalnum(c) != 0 || c == '_' || c == '.' ||
             (c == '-' && at_ > first && text_[at_ - 1] == 'e' &&
              std::isdigit(text_[first]) != 0);
    };
    while (at_ < text_.size() && is_part(text_[at_])) ++at_;
    return std::string(text_.substr(first, at_ - first));
  }

  /// Definitions and checks, then a term.
  Argument body() {
    expect("=");
    for (;;) {
      const size_t start = at_;
      const std::string variable = name();
      const bool defines =
          !variable.empty() && accept("=") && text_[at_] != '=';
      if (!defines) at_ = start;
      Argument result = term();
      if (!defines && !accept(";")) return result;
      if (!defines) continue;
      names_[variable] = std::move(result);
      expect(";");
    }
  }

  Argument term(size_t level = 0) {
    static const std::array<std::vector<const char*>, 3> kOperators{
        {{"==", "!=", "<=", ">=", "<", ">"}, {"+", "-"}, {"*", "/", "%"}}};
    if (level == kOperators.size()) return factor();
    Argument a = term(level + 1);
    for (size_t i = 0; i < kOperators[level].size();) {
      const char* op = kOperators[level][i++];
      if (!accept(op)) continue;
      const Argument b = term(level + 1);
      if (skipping_ == 0) a = apply(graph_, op, a, b);
      i = 0;
    }
    return a;
  }

  /// Parses a term, whose result has no meaning if it is not evaluated.
  Argument evaluate_if(bool evaluates) {
    skipping_ += evaluates ? 0 : 1;
    Argument result = term();
    skipping_ -= evaluates ? 0 : 1;
    return result;
  }

  Argument factor() {
    if (accept("-")) {
      const Argument negated = factor();
      return skipping_ > 0 ? Argument(0.0) : apply(graph_, "-", 0.0, negated);
    }
    if (accept("(")) {
      Argument inner = term();
      expect(")");
      return inner;
    }
    if (accept("[")) return list();
    if (accept("'")) {
      const size_t first = std::exchange(at_, text_.find('\'', at_) + 1);
      return std::string(text_.substr(first, at_ - 1 - first));
    }
    const std::string word = name();
    if (std::isdigit(word[0]) != 0) return std::strtod(word.c_str(), nullptr);
    if (accept("(")) return word == "if" ? choice() : call(word);
    if (skipping_ > 0) return 0.0;
    const auto found = names_.find(word);
    if (found != names_.end()) return found->second;
    if (word == "opset") return static_cast<double>(graph_.opset());
    if (word != "none") expect("a known name instead of " + word);
    return GraphValue();
  }

  /// Lists in a list are flattened.
  Argument list() {
    Integers all;
    for (; !accept("]"); accept(",")) {
      const Argument element = term();
      if (skipping_ > 0) continue;
      if (const auto* inner = std::get_if<Integers>(&element)) {
        all.insert(all.end(), inner->begin(), inner->end());
      } else {
        all.push_back(whole(std::get<double>(element)));
      }
    }
    return all;
  }

  /// if(condition, a, b) evaluates one of the terms.
  Argument choice() {
    const Argument condition = term();
    const bool truth = skipping_ > 0 || std::get<double>(condition) != 0;
    expect(",");
    Argument yes = evaluate_if(truth);
    expect(",");
    Argument no = evaluate_if(!truth);
    expect(")");
    return truth ? yes : no;
  }

  Argument call(const std::string& function) {
    onnx::NodeProto node;
    Arguments arguments;
    for (; !accept(")"); accept(",")) {
      const size_t start = at_;
      const std::string label = name();
      if (!label.empty() && accept(":")) {
        const Argument value = term();
        if (skipping_ == 0) set_attribute(node, label.c_str(), value);
      } else {
        at_ = start;
        arguments.push_back(term());
      }
    }
    if (skipping_ > 0) return 0.0;
    if (const Formula* formula = find_function(function)) {
      return call_formula(graph_, *formula, arguments);
    }
    const bool repeats = function == "this";  // the operator itself
    if (!repeats && std::isupper(function[0]) == 0 &&
        !function.starts_with("octet.")) {
      return call_function(graph_, function, arguments);
    }
    set_operator(node, repeats ? graph_.node().op_type() : function);
    return graph_.add(std::move(node), values_of(graph_, arguments, 0),
                      kLastOpset);
  }

  /// Returns an absent value for an absent attribute.
  Argument attribute(const std::string& attribute) const {
    const auto* given = find_attribute(graph_.node(), attribute);
    if (given == nullptr) return GraphValue();
    switch (given->type()) {
      case onnx::AttributeProto::INT:
        return static_cast<double>(given->i());
      case onnx::AttributeProto::INTS:
        return Integers(given->ints().begin(), given->ints().end());
      case onnx::AttributeProto::STRING:
        return given->s();
      case onnx::AttributeProto::FLOATS: {
        const std::vector<float> floats(given->floats().begin(),
                                        given->floats().end());
        return graph_.constant(Tensor::of<float>(
            {std::ssize(floats)}, std::span<const float>(floats)));
      }
      case onnx::AttributeProto::TENSOR:
        if (!run::dtype_of(given->t().data_type())) {
          graph_.unsupported("element type of " + attribute +
                             " is not supported");
        }
        return graph_.constant(run::constant(given->t()));
      default:
        return static_cast<double>(given->f());
    }
  }

  static void set_attribute(onnx::NodeProto& node, const char* label,
                            const Argument& value) {
    if (const auto* integers = std::get_if<Integers>(&value)) {
      return set_integers(node, label, *integers);
    }
    if (const auto* text = std::get_if<std::string>(&value)) {
      return set_text(node, label, text->c_str());
    }
    const double number = std::get<double>(value);
    set_integer(node, label, whole(number));
    const std::string_view name = label;
    if (name != "alpha" && name != "beta" && name != "epsilon") return;
    auto& attribute = *node.mutable_attribute(node.attribute_size() - 1);
    attribute.set_type(onnx::AttributeProto::FLOAT);
    attribute.set_f(static_cast<float>(number));
  }

  FormulaGraph& graph_;
  std::string_view text_;
  size_t at_ = 0;
  int skipping_ = 0;  ///< depth of terms that are parsed only
  std::map<std::string, Argument> names_;
};

}  // namespace

Argument call_formula(FormulaGraph& graph, const Formula& formula,
                      const Arguments& arguments) {
  return Interpreter(graph, formula.text).result_of(arguments);
}

GraphValues outputs_of(FormulaGraph& graph, const Formula& formula) {
  try {
    return Interpreter(graph, formula.text).outputs_of_node();
  } catch (const Unchanged&) {
    return {};
  } catch (const std::bad_variant_access&) {
    graph.refuse("attributes must have the types of the operator");
  }
  return {};
}

}  // namespace octet::io::formula
