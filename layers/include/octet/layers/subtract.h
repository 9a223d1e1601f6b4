#pragma once

#include <octet/layers/graph.h>

namespace octet {

struct SubtractOptions {
  std::string name = "";
};

/// The first of its two inputs minus the second.
/// Called with a vector of inputs whose shapes are equal or broadcast; inputs
/// of lower rank get axes of size 1 after the batch, as in Keras.
/// Throws: ShapeError naming shapes that do not fit; ValueError for another
/// number of inputs.
class Subtract : public LayerHandle {
 public:
  explicit Subtract(const SubtractOptions& options = {});
};

}  // namespace octet
