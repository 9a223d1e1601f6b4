#pragma once

#include <vector>

#include <octet/layers/graph.h>

namespace octet {

/// Fields in order: axis, epsilon, name
struct UnitNormalizationOptions {
  std::vector<int64_t> axis = {-1};
  float epsilon = 1e-12f;  ///< the least length divided by; Keras has 1e-12
  std::string name = "";
};

/// x / max(|x|, epsilon), with the Euclidean length |x| over the axes.
/// Shapes: [n,...] -> [n,...]. Throws: ValueError for the batch's axis, one
/// given twice, or an epsilon that is not from 1e-18 to 1; ShapeError for an
/// axis that does not exist.
class UnitNormalization : public LayerHandle {
 public:
  explicit UnitNormalization(const UnitNormalizationOptions& options = {});
};

}  // namespace octet
