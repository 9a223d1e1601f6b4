// How much memory a forward pass needs, told from shapes before it runs.
#pragma once

#include <cstdint>

#include <octet/layers/model.h>

namespace octet {

struct ActivationMemory {
  /// Bytes of the float32 values of one sample that exist at a time, each from
  /// its layer to its last consumer. Saturates at INT64_MAX.
  int64_t bytes = 0;
  /// The node that computes the largest value; null for a model of inputs.
  const GraphNode* largest = nullptr;
};

/// An upper bound: layers that share the memory of their input count twice.
ActivationMemory activation_memory(const Model& model);

}  // namespace octet
