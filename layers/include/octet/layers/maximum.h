#pragma once

#include <octet/layers/graph.h>

namespace octet {

struct MaximumOptions {
  std::string name = "";
};

/// The largest of its inputs, value by value; ties share the gradient.
/// Called with a vector of inputs whose shapes are equal or broadcast; inputs
/// of lower rank get axes of size 1 after the batch, as in Keras.
/// Throws: ShapeError naming shapes that do not fit; ValueError for no input.
class Maximum : public LayerHandle {
 public:
  explicit Maximum(const MaximumOptions& options = {});
};

}  // namespace octet
