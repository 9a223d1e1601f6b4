#pragma once

#include <limits>

#include <octet/layers/graph.h>

namespace octet {

struct ReLUOptions {
  float max_value = std::numeric_limits<float>::infinity();
  std::string name = "";
};

/// min(max(x, 0), max_value). Throws: ValueError for max_value <= 0.
class ReLU : public LayerHandle {
 public:
  explicit ReLU(const ReLUOptions& options = {});
};

}  // namespace octet
