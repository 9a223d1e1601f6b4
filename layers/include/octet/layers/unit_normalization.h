#pragma once

#include <vector>

#include <octet/layers/graph.h>

namespace octet {

struct UnitNormalizationOptions {
  std::vector<int64_t> axis = {-1};
  std::string name = "";
};

/// x / max(|x|, 1e-12), with the Euclidean length |x| over the axes.
/// Shapes: [n,...] -> [n,...]. Throws: ValueError for the batch's axis or one
/// given twice; ShapeError for an axis that does not exist.
class UnitNormalization : public LayerHandle {
 public:
  explicit UnitNormalization(const UnitNormalizationOptions& options = {});
};

}  // namespace octet
