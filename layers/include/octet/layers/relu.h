#pragma once

#include <limits>

#include <octet/layers/graph.h>

namespace octet {

/// Fields in order: max_value, negative_slope, threshold, name
struct ReLUOptions {
  float max_value = std::numeric_limits<float>::infinity();
  float negative_slope = 0;
  float threshold = 0;
  std::string name = "";
};

/// Computes min(x, max_value) above the threshold and negative_slope * (x -
/// threshold) at or below it; max(x, 0) by default.
/// Throws: ValueError for max_value <= 0, or a slope or threshold that is
/// negative or not finite.
class ReLU : public LayerHandle {
 public:
  explicit ReLU(const ReLUOptions& options = {});
};

}  // namespace octet
