#pragma once

#include <optional>
#include <string>

#include <octet/layers/graph.h>

namespace octet {

/// Fields in order: operation, value, name
struct CompareOptions {
  /// "equal", "not_equal", "greater", "greater_equal", "less" or "less_equal".
  std::string operation = "";
  /// Constant second operand; if set, the layer has one input, else two.
  std::optional<float> value = {};
  std::string name = "";
};

/// Returns 1 for elements that satisfy the comparison, else 0. No gradient.
///
///   Compare({.operation = "greater", .value = 0.5f})(x)
///   Compare({.operation = "less"})({x, y})
///
/// Two inputs broadcast as in Add. NaN equals nothing.
/// Throws: ValueError for an unknown operation or a wrong number of inputs;
/// ShapeError for shapes that do not broadcast.
class Compare : public LayerHandle {
 public:
  explicit Compare(const CompareOptions& options);
};

}  // namespace octet
