#pragma once

#include <optional>
#include <string>

#include <octet/layers/graph.h>

namespace octet {

/// Fields in order: min, max, name
struct ClipByValueOptions {
  std::optional<float> min = {};
  std::optional<float> max = {};
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
