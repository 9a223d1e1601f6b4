#pragma once

#include <optional>
#include <string>

#include <octet/layers/graph.h>

namespace octet {

/// Fields in order: operation, value, name
struct CompareOptions {
  /// "equal", "not_equal", "greater", "greater_equal", "less" or "less_equal".
  std::string operation = "";
  /// What its only input is compared with; without, there are two inputs.
  std::optional<float> value = {};
  std::string name = "";
};

/// 1 where the comparison holds and 0 elsewhere, without a gradient:
///
///   Compare({.operation = "greater", .value = 0.5f})(x)
///   Compare({.operation = "less"})({x, y})
///
/// Two inputs broadcast as those of Add. NaN is not equal to anything.
/// Throws: ValueError for another operation or number of inputs; ShapeError.
class Compare : public LayerHandle {
 public:
  explicit Compare(const CompareOptions& options);
};

}  // namespace octet
