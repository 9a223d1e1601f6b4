#pragma once

#include <vector>

#include <octet/layers/graph.h>

namespace octet {

/// Fields in order: axes, normalize, name
struct DotOptions {
  /// Axes to contract: one for both inputs, or one for each.
  std::vector<int64_t> axes = {-1};
  bool normalize = false;  ///< normalizes both first: cosine similarity
  std::string name = "";
};

/// Contracts an axis of each of two inputs, sample by sample.
/// Shapes: [n,a,k], [n,k,b] with axes {2, 1} -> [n,a,b]; [n,k], [n,k,b] ->
/// [n,b]; [n,k], [n,k] -> [n,1].
/// Throws: ValueError unless there are two inputs and one or two axes, none of
/// them the batch; ShapeError for inputs of rank other than 2 or 3, or axes of
/// different sizes.
class Dot : public LayerHandle {
 public:
  explicit Dot(const DotOptions& options = {});
};

}  // namespace octet
