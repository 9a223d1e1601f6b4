#pragma once

#include <octet/layers/graph.h>

namespace octet {

/// Fields in order: target_shape, name
struct ReshapeOptions {
  std::vector<int64_t> target_shape{};  ///< one sample's; one entry may be -1
  std::string name = "";
};

/// The same values in another shape, row by row.
/// Shapes: [n,...] -> [n,target_shape...].
/// Throws: ValueError for a size below 1 but -1, or a second -1; ShapeError
/// when called on samples of another size.
class Reshape : public LayerHandle {
 public:
  explicit Reshape(const ReshapeOptions& options = {});
};

}  // namespace octet
