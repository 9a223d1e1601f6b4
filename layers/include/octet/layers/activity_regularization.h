#pragma once

#include <octet/layers/graph.h>

namespace octet {

/// Fields in order: l1, l2, name
struct ActivityRegularizationOptions {
  float l1 = 0;
  float l2 = 0;
  std::string name = "";
};

/// Returns x unchanged and, in training, adds (l1 * sum |x| + l2 * sum x^2) / n
/// to the loss, n being the batch size.
/// Source: Keras 3, Layer.__call__ with an activity_regularizer.
/// Throws: ValueError for a negative or non-finite factor.
class ActivityRegularization : public LayerHandle {
 public:
  explicit ActivityRegularization(
      const ActivityRegularizationOptions& options = {});
};

}  // namespace octet
