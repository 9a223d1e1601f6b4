#pragma once

#include <octet/layers/graph.h>

namespace octet {

struct MinimumOptions {
  std::string name = "";
};

/// Elementwise minimum of its inputs; ties share the gradient. Takes a vector
/// of inputs of equal or broadcastable shapes; inputs of lower rank get axes of
/// size 1 after the batch axis, as in Keras.
/// Throws: ShapeError for shapes that do not broadcast; ValueError for an empty
/// vector.
class Minimum : public LayerHandle {
 public:
  explicit Minimum(const MinimumOptions& options = {});
};

}  // namespace octet
