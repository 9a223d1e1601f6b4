#pragma once

#include <octet/layers/graph.h>

namespace octet {

/// Fields in order: negative_slope, name
struct LeakyReLUOptions {
  float negative_slope = 0.3f;  ///< "alpha" in configurations of Keras 2
  std::string name = "";
};

/// x > 0 ? x : negative_slope * x. Throws: ValueError for a slope that is
/// negative or not finite.
class LeakyReLU : public LayerHandle {
 public:
  explicit LeakyReLU(const LeakyReLUOptions& options = {});
};

}  // namespace octet
