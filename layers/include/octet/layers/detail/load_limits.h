// Limits for models from files: initialization that loading replaces, numbers
// of parameters, and the memory of a forward pass.
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

/// While alive, layers built by this thread do not initialize their parameters;
/// the caller must set all of them afterwards.
class SkipInit {
 public:
  /// Begins to skip initialization in this thread; objects may nest.
  SkipInit();
  ~SkipInit();
  SkipInit(const SkipInit&) = delete;
  SkipInit& operator=(const SkipInit&) = delete;

 private:
  friend class Layer;
  static bool wanted();

  bool before_;
};

/// While alive, limits layers built by this thread to `elements` parameter
/// elements in total. Declarations beyond throw ValueError before memory is
/// allocated. For graphs from files.
class ParameterLimit {
 public:
  /// Begins to limit this thread; objects may nest, and all limits apply.
  explicit ParameterLimit(int64_t elements);
  ~ParameterLimit();
  ParameterLimit(const ParameterLimit&) = delete;
  ParameterLimit& operator=(const ParameterLimit&) = delete;

 private:
  friend class Layer;
  static void take(const Shape& shape);

  int64_t left_;
  ParameterLimit* before_;
};

}  // namespace octet
