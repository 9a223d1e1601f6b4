#pragma once

#include <optional>
#include <string>

#include <octet/layers/graph.h>

namespace octet {

/// Fields in order: x, y, name
struct WhereOptions {
  /// Constants in place of the tensors x and y.
  std::optional<float> x = {};
  std::optional<float> y = {};
  std::string name = "";
};

/// Selects elementwise: x if the condition is not 0, else y. Elements that are
/// not selected get no gradient and may be NaN.
///
///   Where()({condition, x, y})
///   Where({.y = 0})({condition, x})
///
/// Inputs broadcast as in Add.
/// Throws: ValueError for a wrong number of inputs; ShapeError for shapes that
/// do not broadcast.
class Where : public LayerHandle {
 public:
  explicit Where(const WhereOptions& options = {});
};

}  // namespace octet
