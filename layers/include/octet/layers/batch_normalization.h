#pragma once

#include <octet/layers/graph.h>

namespace octet {

/// Fields in order: momentum, epsilon, center, scale, beta_initializer,
/// gamma_initializer, beta_regularizer, gamma_regularizer, name
struct BatchNormalizationOptions {
  float momentum = 0.99f;  ///< share of the old statistics that stays
  float epsilon = 1e-3f;
  bool center = true;
  bool scale = true;
  Initializer beta_initializer = zeros();
  Initializer gamma_initializer = ones();
  Regularizer beta_regularizer = {};
  Regularizer gamma_regularizer = {};
  std::string name = "";
};

/// Batch normalization over the last axis, as in Keras. Parameters: gamma,
/// beta (if scale, center), moving_mean, moving_variance, all [c]. In training
/// it uses and records the statistics of the batch, unless they are frozen
/// (Layer::freeze_statistics).
/// Throws: ValueError for momentum outside [0,1] or epsilon <= 0.
class BatchNormalization : public LayerHandle {
 public:
  explicit BatchNormalization(const BatchNormalizationOptions& options = {});
};

}  // namespace octet
