#pragma once

#include <concepts>
#include <string>

#include <octet/layers/graph.h>

namespace octet {

/// Fields in order: operation, name
struct UnaryOptions {
  /// "abs", "ceil", "cos", "erf", "floor", "log", "reciprocal", "round",
  /// "sign", "sin", "sqrt" or "square".
  std::string operation = "";
  std::string name = "";
};

/// An operation on every value that is no activation function, as graphs of
/// other frameworks have it. log and sqrt are NaN below 0; no gradient goes
/// through ceil, floor, round (ties to even) and sign.
/// Shapes: [n,...] -> [n,...]. Throws: ValueError for another operation.
class Unary : public LayerHandle {
 public:
  explicit Unary(const UnaryOptions& options);
  /// A template, as braces are for the options.
  template <std::convertible_to<std::string> Operation>
  explicit Unary(const Operation& operation, const std::string& name = "")
      : Unary(UnaryOptions{.operation = operation, .name = name}) {}
};

}  // namespace octet
