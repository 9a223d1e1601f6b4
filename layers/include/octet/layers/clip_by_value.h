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

/// Computes min(max(x, min), max), as tf.clip_by_value and torch.clamp; an
/// unset bound does not apply. For min = 0, ReLU is faster.
/// Shapes: [n,...] -> [n,...].
/// Throws: ValueError for non-finite bounds or min > max.
class ClipByValue : public LayerHandle {
 public:
  explicit ClipByValue(const ClipByValueOptions& options = {});
};

}  // namespace octet
