#pragma once

#include <vector>

#include <octet/layers/graph.h>

namespace octet {

/// Fields in order: indices, axis, name
struct GatherOptions {
  /// Indices along the axis; they may repeat, negative ones count from the end.
  std::vector<int64_t> indices = {};
  int64_t axis = -1;  ///< not the batch (0); negative counts from the end
  std::string name = "";
};

/// Selects elements along an axis by index: repetition, reversal, mirror or
/// edge padding, as `indices` define.
/// Shapes: the size of the axis becomes the number of indices.
/// Throws: ValueError for empty indices or the batch axis; ShapeError for an
/// axis or indices out of range.
class Gather : public LayerHandle {
 public:
  explicit Gather(const GatherOptions& options = {});
};

}  // namespace octet
