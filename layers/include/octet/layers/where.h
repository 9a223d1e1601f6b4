#pragma once

#include <optional>
#include <string>

#include <octet/layers/graph.h>

namespace octet {

/// Fields in order: x, y, name
struct WhereOptions {
  /// Numbers in place of the tensors: of values where the condition holds, and
  /// of those where it does not.
  std::optional<float> x = {};
  std::optional<float> y = {};
  std::string name = "";
};

/// One of two, value by value: x where the condition is not 0, else y. What is
/// not chosen gets no gradient, and may be NaN.
///
///   Where()({condition, x, y})
///   Where({.y = 0})({condition, x})
///
/// The inputs broadcast as those of Add.
/// Throws: ValueError for another number of inputs; ShapeError.
class Where : public LayerHandle {
 public:
  explicit Where(const WhereOptions& options = {});
};

}  // namespace octet
