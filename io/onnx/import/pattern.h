// Patterns of ONNX nodes: terms of operators, and a matcher for which sums and
// products are commutative and associative. Internal to io/onnx/import.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "onnx/normalize/fold.h"

namespace octet::io::importing {

namespace pattern {

/// A term of a pattern. Numbers convert to terms: `x * 0.5 + 1`.
struct Term {
  enum class Kind {
    value,    ///< a computed value
    any,      ///< a computed value or a constant
    tensor,   ///< a float32 constant
    scalar,   ///< a number of any value
    number,   ///< a constant equal to `number`
    node,     ///< an operator with these operands
    sum,      ///< Add in any order and nesting, Sub of a number
    product,  ///< Mul in any order and nesting, Div by a number
    either,   ///< one of the operands
  };
  struct Attribute {
    std::string name;
    double value;
    double otherwise;  ///< the value of an absent attribute
  };

  Term(double value) : kind(Kind::number), number(value) {}  // NOLINT
  Term(Kind k, std::string text, std::vector<Term> terms = {})
      : kind(k),
        name(std::move(text)),
        shared_operands(
            std::make_shared<const std::vector<Term>>(std::move(terms))) {}

  /// Returns the term with a required value of a node's attribute; an absent
  /// attribute counts as `otherwise`.
  Term with(const char* attribute, double value, double otherwise) const;

  const std::vector<Term>& operands() const {
    static const std::vector<Term> kNone;
    return shared_operands == nullptr ? kNone : *shared_operands;
  }

  Kind kind;
  std::string name;  ///< of a variable or operator
  double number = 0;
  std::vector<Attribute> attributes = {};
  /// Copies of a term share its operands.
  std::shared_ptr<const std::vector<Term>> shared_operands = {};
};

/// Variables. All occurrences of a name in a pattern match the same value.
inline Term value(const char* name) { return {Term::Kind::value, name}; }
inline Term any(const char* name) { return {Term::Kind::any, name}; }
inline Term tensor(const char* name) { return {Term::Kind::tensor, name}; }
inline Term scalar(const char* name) { return {Term::Kind::scalar, name}; }

/// The output of an operator with a single output. Max, Min and Equal are
/// commutative. All Reduce* nodes of a match have the same axes.
template <class... Terms>
Term node(const char* op, const Terms&... operands) {
  return {Term::Kind::node, op, {Term(operands)...}};
}

Term operator+(const Term& a, const Term& b);
Term operator*(const Term& a, const Term& b);
Term operator-(const Term& a, const Term& b);
Term operator/(const Term& a, const Term& b);
Term either(std::vector<Term> terms);

}  // namespace pattern

/// A match: the values of variables and the matched nodes.
struct PatternMatch {
  // Names of variables and values belong to terms and nodes.
  std::vector<std::pair<std::string_view, const std::string*>> values;
  std::vector<std::pair<std::string_view, float>> scalars;
  std::optional<std::vector<int64_t>> axes;  ///< of Reduce* nodes
  std::vector<OnnxNode*> parts;              ///< the anchor first

  /// Returns the value of a variable, or "" if it does not occur.
  const std::string& value(std::string_view variable) const;
  /// Returns the number of a scalar variable.
  std::optional<float> scalar(std::string_view variable) const;
  /// Returns the first matched node of an operator, or null.
  const OnnxNode* part(const char* op) const;
};

/// A row of the pattern table: nodes that are equivalent to one operator.
struct Pattern {
  const char* name;
  const char* source;  ///< exporters that write the form
  pattern::Term term;
  /// The new operator and its inputs, variables of the term: "Gelu(x)". Its
  /// attributes are the scalars of the term. A matched node of the same
  /// operator passes on its name and attributes.
  const char* result;
  /// Checks conditions on shapes and adds attributes.
  bool (*accept)(OnnxGraph&, const PatternMatch&, onnx::NodeProto&) = nullptr;
  bool last = false;  ///< applies after all matches of other rows
};

/// Returns the table. The first matching row of a node applies.
const std::vector<Pattern>& patterns();

/// Finds matches of which `anchor` is the last node and whose intermediate
/// values are consumed by matched nodes only.
class PatternMatcher {
 public:
  explicit PatternMatcher(OnnxGraph& graph) : graph_(graph) {}

  /// Returns whether `accept` returned true for a match.
  bool find(const pattern::Term& term, OnnxNode& anchor,
            const std::function<bool(const PatternMatch&)>& accept);
  /// Returns the number of terms compared with nodes so far.
  int64_t steps() const { return steps_; }

 private:
  using Term = pattern::Term;
  // Continuation that matches the rest of a pattern. Refers to a function that
  // the caller owns; std::function would allocate memory for each term.
  class Next {
   public:
    template <class Function>
    Next(const Function& function)  // NOLINT: converts any function
        : function_(&function), call_([](const void* f) {
            return (*static_cast<const Function*>(f))();
          }) {}
    bool operator()() const { return call_(function_); }

   private:
    const void* function_;
    bool (*call_)(const void*);
  };
  // Each extends the match by a term and calls `next`. Returns whether both
  // match; if not, restores the match.
  bool match(const Term& term, const std::string& value, const Next& next);
  bool match_scalar(const Term& term, const std::string& value,
                    const Next& next);
  bool match_variable(const Term& term, const std::string& value,
                      const Next& next);
  bool match_node(const Term& term, const std::string& value, const Next& next);
  bool match_operands(const Term& term, const OnnxNode& node, size_t first,
                      bool swapped, const Next& next);
  bool match_all(const Term& term, unsigned operands, const std::string& value,
                 const Next& next);
  bool match_split(const Term& term, unsigned operands, const OnnxNode& node,
                   const Next& next);
  bool match_inverse(const Term& term, unsigned operands, const OnnxNode& node,
                     const Next& next);
  bool with_part(OnnxNode& node, const Next& next);
  std::optional<double> number(const std::string& value);
  bool is_closed() const;

  // Cache of values by the address of their names in nodes: terms are compared
  // with the same values many times.
  struct KnownValue {
    const std::string* name = nullptr;
    OnnxNode* producer = nullptr;
    const Constant* constant = nullptr;
  };
  const KnownValue& find_value(const std::string& name);

  OnnxGraph& graph_;
  std::array<KnownValue, 64> known_;
  PatternMatch match_;
  int64_t steps_ = 0;
};

/// Replaces the matches of all patterns(). Returns the number of compared
/// terms, which is linear in the number of nodes.
/// REQUIRES: constants are folded.
int64_t recompose(OnnxGraph& graph);

/// Attribute of a LayerNormalization over a single axis, which need not be the
/// last.
inline constexpr const char* kOverOneAxis = "over_one_axis";

/// Attribute of a GroupNormalization whose scale and bias are per channel in
/// any opset.
inline constexpr const char* kFromParts = "from_parts";

/// Internal operator softmax(q k * factor / divisor + mask) v, with tokens last
/// in k. Inputs: q, k, v, factor, divisor, then constants of the mask.
/// Attributes: "axis" of the Softmax; "masked_queries" and "masked_keys", the
/// sizes of a causal mask.
inline constexpr const char* kAttention = "ScaledDotProductAttention";

}  // namespace octet::io::importing
