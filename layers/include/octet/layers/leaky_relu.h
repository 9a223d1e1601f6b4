#pragma once

#include <octet/layers/graph.h>

namespace octet {

/// Fields in order: negative_slope, name
struct LeakyReLUOptions {
  float negative_slope = 0.3f;  ///< "alpha" in Keras 2 configurations
  std::string name = "";
};

/// Computes x > 0 ? x : negative_slope * x.
/// Throws: ValueError for a negative or non-finite slope.
class LeakyReLU : public LayerHandle {
 public:
  explicit LeakyReLU(const LeakyReLUOptions& options = {});
};

}  // namespace octet
