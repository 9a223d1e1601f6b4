#pragma once

#include <vector>

#include <octet/layers/graph.h>

namespace octet {

/// Fields in order: axis, epsilon, name
struct UnitNormalizationOptions {
  std::vector<int64_t> axis = {-1};
  float epsilon = 1e-12f;  ///< minimum divisor; fixed at 1e-12 in Keras
  std::string name = "";
};

/// Computes x / max(|x|, epsilon), |x| being the Euclidean norm over the axes.
/// Shapes: [n,...] -> [n,...].
/// Throws: ValueError for the batch axis, a duplicate axis, or an epsilon
/// outside [1e-18, 1]; ShapeError for an axis out of range.
class UnitNormalization : public LayerHandle {
 public:
  explicit UnitNormalization(const UnitNormalizationOptions& options = {});
};

}  // namespace octet
