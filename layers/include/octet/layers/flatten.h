#pragma once

#include <octet/layers/graph.h>

namespace octet {

struct FlattenOptions {
  std::string name = "";
};

/// Merges all axes but the batch, in row-major order (h, w, c).
/// Shapes: [n,...] -> [n,size].
class Flatten : public LayerHandle {
 public:
  explicit Flatten(const FlattenOptions& options = {});
};

}  // namespace octet
