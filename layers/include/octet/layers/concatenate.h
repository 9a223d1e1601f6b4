#pragma once

#include <octet/layers/graph.h>

namespace octet {

/// Fields in order: axis, name
struct ConcatenateOptions {
  int64_t axis = -1;  ///< the batch is axis 0; negative ones from the end
  std::string name = "";
};

/// Its inputs one after the other: Concatenate()({a, b}).
/// Throws: ValueError for the batch axis; ShapeError when called on shapes
/// that differ on another axis.
class Concatenate : public LayerHandle {
 public:
  explicit Concatenate(const ConcatenateOptions& options = {});
};

}  // namespace octet
