#pragma once

#include <vector>

#include <octet/layers/graph.h>

namespace octet {

/// Fields in order: axes, normalize, name
struct DotOptions {
  /// That is summed over: one number for both inputs, or one each.
  std::vector<int64_t> axes = {-1};
  bool normalize = false;  ///< both to length 1 along it: the cosine
  std::string name = "";
};

/// Products of two inputs, summed over an axis of each, sample by sample.
/// Shapes: [n,a,k], [n,k,b] with axes {2, 1} -> [n,a,b]; [n,k], [n,k,b] ->
/// [n,b]; [n,k], [n,k] -> [n,1].
/// Throws: ValueError unless there are two inputs and one or two axes, none of
/// them the batch's; ShapeError for inputs that are no vectors or sequences, or
/// axes of different sizes.
class Dot : public LayerHandle {
 public:
  explicit Dot(const DotOptions& options = {});
};

}  // namespace octet
