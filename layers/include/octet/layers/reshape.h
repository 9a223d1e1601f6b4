#pragma once

#include <octet/layers/graph.h>

namespace octet {

/// Fields in order: target_shape, name
struct ReshapeOptions {
  std::vector<int64_t> target_shape{};  ///< of one sample; -1 once: inferred
  std::string name = "";
};

/// Reshapes each sample, in row-major order.
/// Shapes: [n,...] -> [n,target_shape...].
/// Throws: ValueError for a size < 1 other than -1, or a second -1; ShapeError
/// for samples with another number of elements.
class Reshape : public LayerHandle {
 public:
  explicit Reshape(const ReshapeOptions& options = {});
};

}  // namespace octet
