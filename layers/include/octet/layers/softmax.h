#pragma once

#include <octet/layers/graph.h>

namespace octet {

struct SoftmaxOptions {
  std::string name = "";
};

/// exp(x) / sum exp(x) over the last axis. Losses take logits, so a network
/// that is trained ends before it.
class Softmax : public LayerHandle {
 public:
  explicit Softmax(const SoftmaxOptions& options = {});
};

}  // namespace octet
