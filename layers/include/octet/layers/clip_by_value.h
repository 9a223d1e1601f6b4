#pragma once

#include <limits>

#include <octet/layers/graph.h>

namespace octet {

struct ClipByValueOptions {
  float min = std::numeric_limits<float>::lowest();  ///< the default is none
  float max = std::numeric_limits<float>::max();
  std::string name = "";
};

/// min(max(x, min), max), as tf.clip_by_value and torch.clamp. From 0 up ReLU
/// is faster. Shapes: [n,...] -> [n,...].
/// Throws: ValueError for bounds that are not finite, or min > max.
class ClipByValue : public LayerHandle {
 public:
  explicit ClipByValue(const ClipByValueOptions& options = {});
};

}  // namespace octet
