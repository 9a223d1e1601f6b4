// Memory of a forward pass, estimated from shapes before it runs.
#pragma once

#include <cstdint>

#include <octet/layers/model.h>

namespace octet {

struct ActivationMemory {
  /// Bytes of the float32 values per sample that are alive at the same time,
  /// each from its layer to its last consumer. Saturates at INT64_MAX.
  int64_t bytes = 0;
  /// Node with the largest output; null for a model without nodes.
  const GraphNode* largest = nullptr;
};

/// Returns an upper bound: layers whose output shares the memory of their input
/// count twice.
ActivationMemory activation_memory(const Model& model);

}  // namespace octet
