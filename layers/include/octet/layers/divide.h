#pragma once

#include <octet/layers/graph.h>

namespace octet {

struct DivideOptions {
  std::string name = "";
};

/// Divides the first input by the second; x / 0 is an infinity.
/// Takes a vector of inputs of equal or broadcastable shapes; inputs of lower
/// rank get axes of size 1 after the batch axis, as in Keras.
/// Throws: ShapeError for shapes that do not broadcast; ValueError unless there
/// are two inputs.
class Divide : public LayerHandle {
 public:
  explicit Divide(const DivideOptions& options = {});
};

}  // namespace octet
