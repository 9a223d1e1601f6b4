#pragma once

#include <octet/layers/graph.h>

namespace octet {

/// Fields in order: axis, name
struct SoftmaxOptions {
  int64_t axis = -1;
  std::string name = "";
};

/// exp(x) / sum exp(x) over one axis of a sample. Losses take logits, so a
/// network that is trained ends before it.
/// Throws: ShapeError for the batch, or an axis that is not there.
class Softmax : public LayerHandle {
 public:
  explicit Softmax(const SoftmaxOptions& options = {});
};

}  // namespace octet
