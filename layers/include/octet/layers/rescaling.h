#pragma once

#include <vector>

#include <octet/layers/graph.h>

namespace octet {

/// Fields in order: scale, offset, name
struct RescalingOptions {
  std::vector<float> scale{1};   ///< one number, or one for each channel
  std::vector<float> offset{0};  ///< the same
  std::string name = "";
};

/// x * scale + offset. Throws: ValueError for numbers that are not finite or
/// none; ShapeError where a list is not as long as the last axis.
class Rescaling : public LayerHandle {
 public:
  explicit Rescaling(const RescalingOptions& options = {});
};

}  // namespace octet
