#pragma once

#include <octet/layers/graph.h>

namespace octet {

struct DivideOptions {
  std::string name = "";
};

/// The first of its two inputs divided by the second; by 0 gives an infinity.
/// Called with a vector of inputs whose shapes are equal or broadcast; inputs
/// of lower rank get axes of size 1 after the batch, as Subtract's.
/// Throws: ShapeError naming shapes that do not fit; ValueError for another
/// number of inputs.
class Divide : public LayerHandle {
 public:
  explicit Divide(const DivideOptions& options = {});
};

}  // namespace octet
