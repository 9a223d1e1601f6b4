#pragma once

#include <octet/layers/graph.h>

namespace octet {

struct AddOptions {
  std::string name = "";
};

/// Adds its inputs element by element: `Add()({x, y})`.
/// Takes a vector of inputs of equal or broadcastable shapes; inputs of lower
/// rank get axes of size 1 after the batch axis, as in Keras.
/// Throws: ShapeError for shapes that do not broadcast; ValueError for an empty
/// vector.
class Add : public LayerHandle {
 public:
  explicit Add(const AddOptions& options = {});
};

}  // namespace octet
