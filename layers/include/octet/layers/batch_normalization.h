#pragma once

#include <octet/layers/graph.h>

namespace octet {

/// Fields in order: momentum, epsilon, center, scale, beta_initializer,
/// gamma_initializer, beta_regularizer, gamma_regularizer, name
struct BatchNormalizationOptions {
  float momentum = 0.99f;  ///< weight of the old statistics, in [0,1]
  float epsilon = 1e-3f;
  bool center = true;
  bool scale = true;
  Initializer beta_initializer = zeros();
  Initializer gamma_initializer = ones();
  Regularizer beta_regularizer = {};
  Regularizer gamma_regularizer = {};
  std::string name = "";
};

/// Batch normalization over the last axis, as in Keras. Parameters, all [c]:
/// gamma (if `scale`), beta (if `center`), moving_mean, moving_variance. In
/// training it normalizes by the batch statistics and updates the moving
/// statistics, unless these are frozen (Layer::freeze_statistics).
/// Throws: ValueError for momentum outside [0,1] or epsilon <= 0; ShapeError
/// for rank < 2.
class BatchNormalization : public LayerHandle {
 public:
  explicit BatchNormalization(const BatchNormalizationOptions& options = {});
};

}  // namespace octet
