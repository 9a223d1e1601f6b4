#pragma once

#include <vector>

#include <octet/layers/graph.h>

namespace octet {

/// Fields in order: axis, epsilon, center, scale, beta_initializer,
/// gamma_initializer, beta_regularizer, gamma_regularizer, name
struct LayerNormalizationOptions {
  std::vector<int64_t> axis = {-1};
  float epsilon = 1e-3f;
  bool center = true;
  bool scale = true;
  Initializer beta_initializer = zeros();
  Initializer gamma_initializer = ones();
  Regularizer beta_regularizer = {};
  Regularizer gamma_regularizer = {};
  std::string name = "";
};

/// Normalizes each row or pixel over the last axis by its mean and biased
/// variance, as in Keras. Parameters: gamma [c] (ones) if `scale`, beta [c]
/// (zeros) if `center`.
/// Shapes: [n,...,c] -> [n,...,c].
/// Throws: ValueError for an epsilon <= 0; UnsupportedError for an axis other
/// than the last; ShapeError for rank < 2.
class LayerNormalization : public LayerHandle {
 public:
  explicit LayerNormalization(const LayerNormalizationOptions& options = {});
};

}  // namespace octet
