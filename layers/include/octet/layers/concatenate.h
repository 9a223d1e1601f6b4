#pragma once

#include <octet/layers/graph.h>

namespace octet {

/// Fields in order: axis, name
struct ConcatenateOptions {
  int64_t axis = -1;  ///< batch is axis 0; negative counts from the end
  std::string name = "";
};

/// Concatenates its inputs along an axis: `Concatenate()({a, b})`.
/// Throws: ValueError for the batch axis; ShapeError for inputs that differ in
/// another axis.
class Concatenate : public LayerHandle {
 public:
  explicit Concatenate(const ConcatenateOptions& options = {});
};

}  // namespace octet
