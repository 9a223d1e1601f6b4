#pragma once

#include <octet/layers/graph.h>

namespace octet {

struct AddOptions {
  std::string name = "";
};

/// The sum of its inputs: `Add()({x, y})`.
/// Called with a vector of inputs whose shapes are equal or broadcast; inputs
/// of lower rank get axes of size 1 after the batch, as in Keras.
/// Throws: ShapeError naming shapes that do not fit; ValueError for no input.
class Add : public LayerHandle {
 public:
  explicit Add(const AddOptions& options = {});
};

}  // namespace octet
