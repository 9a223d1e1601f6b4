#pragma once

#include <vector>

#include <octet/layers/graph.h>

namespace octet {

/// Fields in order: scale, offset, name
struct RescalingOptions {
  std::vector<float> scale{1};   ///< one number, or one per channel
  std::vector<float> offset{0};  ///< the same
  std::string name = "";
};

/// Computes x * scale + offset.
/// Throws: ValueError for empty lists or non-finite numbers; ShapeError for a
/// list of a length other than 1 or that of the last axis.
class Rescaling : public LayerHandle {
 public:
  explicit Rescaling(const RescalingOptions& options = {});
};

}  // namespace octet
