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

/// Applies an elementwise operation other than an activation function, for
/// graphs of other frameworks. log and sqrt return NaN below 0; round rounds
/// ties to even; ceil, floor, round and sign have no gradient.
/// Shapes: [n,...] -> [n,...].
/// Throws: ValueError for an unknown operation.
class Unary : public LayerHandle {
 public:
  explicit Unary(const UnaryOptions& options);
  /// A template, so that a braced argument selects the options constructor.
  template <std::convertible_to<std::string> Operation>
  explicit Unary(const Operation& operation, const std::string& name = "")
      : Unary(UnaryOptions{.operation = operation, .name = name}) {}
};

}  // namespace octet
