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

/// Selects elementwise: x if the condition is not 0, else y. The element that
/// is not selected gets no gradient and may be NaN.
///
///   Where()({condition, x, y})
///   Where({.y = 0})({condition, x})
///
/// The inputs broadcast as those of Add.
/// Throws: ValueError for a wrong number of inputs; ShapeError for shapes that
/// do not broadcast.
class Where : public LayerHandle {
 public:
  explicit Where(const WhereOptions& options = {});
};

}  // namespace octet
