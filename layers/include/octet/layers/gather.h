#pragma once

#include <vector>

#include <octet/layers/graph.h>

namespace octet {

/// Fields in order: indices, axis, name
struct GatherOptions {
  /// Entries of the axis, in order and as often as they are listed; negative
  /// ones count from the end.
  std::vector<int64_t> indices = {};
  int64_t axis = -1;  ///< of a sample: not 0; negative ones count from the end
  std::string name = "";
};

/// Chosen entries along one axis: repeats, turns, pads by mirrored or by border
/// pixels, as the list says.
/// Shapes: the axis gets the size of the list.
/// Throws: ValueError for no indices, or the batch's axis; ShapeError for an
/// axis or entries that are not there.
class Gather : public LayerHandle {
 public:
  explicit Gather(const GatherOptions& options = {});
};

}  // namespace octet
