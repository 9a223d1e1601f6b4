#pragma once

#include <octet/layers/graph.h>

namespace octet {

/// Fields in order: axis, name
struct SoftmaxOptions {
  int64_t axis = -1;
  std::string name = "";
};

/// Computes exp(x) / sum exp(x) over an axis of a sample. Training losses take
/// logits, so end a network for training before this layer.
/// Throws: ShapeError for the batch axis or an axis out of range.
class Softmax : public LayerHandle {
 public:
  explicit Softmax(const SoftmaxOptions& options = {});
};

}  // namespace octet
