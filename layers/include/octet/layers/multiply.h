#pragma once

#include <octet/layers/graph.h>

namespace octet {

struct MultiplyOptions {
  std::string name = "";
};

/// The product of its inputs, value by value.
/// Called with a vector of inputs whose shapes are equal or broadcast; inputs
/// of lower rank get axes of size 1 after the batch, as in Keras.
/// Throws: ShapeError naming shapes that do not fit; ValueError for no input.
class Multiply : public LayerHandle {
 public:
  explicit Multiply(const MultiplyOptions& options = {});
};

}  // namespace octet
