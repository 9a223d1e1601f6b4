#pragma once

#include <octet/layers/graph.h>

namespace octet {

/// Fields in order: l1, l2, name
struct ActivityRegularizationOptions {
  float l1 = 0;
  float l2 = 0;
  std::string name = "";
};

/// Passes x on and, in training, adds (l1 * sum |x| + l2 * sum x^2) / n to
/// the loss, n being the batch.
/// Source: Keras 3, Layer.__call__ with an activity_regularizer.
/// Throws: ValueError for a factor that is negative or not finite.
class ActivityRegularization : public LayerHandle {
 public:
  explicit ActivityRegularization(
      const ActivityRegularizationOptions& options = {});
};

}  // namespace octet
