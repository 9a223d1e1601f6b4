#pragma once

#include <octet/layers/graph.h>

namespace octet {

struct MultiplyOptions {
  std::string name = "";
};

/// Multiplies its inputs element by element. Takes a vector of inputs of equal
/// or broadcastable shapes; inputs of lower rank get axes of size 1 after the
/// batch axis, as in Keras.
/// Throws: ShapeError for shapes that do not broadcast; ValueError for an empty
/// vector.
class Multiply : public LayerHandle {
 public:
  explicit Multiply(const MultiplyOptions& options = {});
};

}  // namespace octet
