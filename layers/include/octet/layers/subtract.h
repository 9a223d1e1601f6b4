#pragma once

#include <octet/layers/graph.h>

namespace octet {

struct SubtractOptions {
  std::string name = "";
};

/// Subtracts the second input from the first. Takes a vector of inputs of
/// equal or broadcastable shapes; inputs of lower rank get axes of size 1 after
/// the batch axis, as in Keras.
/// Throws: ShapeError for shapes that do not broadcast; ValueError unless there
/// are two inputs.
class Subtract : public LayerHandle {
 public:
  explicit Subtract(const SubtractOptions& options = {});
};

}  // namespace octet
