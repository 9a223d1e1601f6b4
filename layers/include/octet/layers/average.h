#pragma once

#include <octet/layers/graph.h>

namespace octet {

struct AverageOptions {
  std::string name = "";
};

/// Averages its inputs element by element. Takes a vector of inputs of equal or
/// broadcastable shapes; inputs of lower rank get axes of size 1 after the
/// batch axis, as in Keras.
/// Throws: ShapeError for shapes that do not broadcast; ValueError for an empty
/// vector.
class Average : public LayerHandle {
 public:
  explicit Average(const AverageOptions& options = {});
};

}  // namespace octet
