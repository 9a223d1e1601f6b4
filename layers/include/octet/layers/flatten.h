#pragma once

#include <octet/layers/graph.h>

namespace octet {

struct FlattenOptions {
  std::string name = "";
};

/// All dimensions but the batch into one, in the order h, w, c.
/// Shapes: [n,...] -> [n,size].
class Flatten : public LayerHandle {
 public:
  explicit Flatten(const FlattenOptions& options = {});
};

}  // namespace octet
