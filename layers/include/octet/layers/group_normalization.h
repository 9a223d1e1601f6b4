#pragma once

#include <vector>

#include <octet/layers/graph.h>

namespace octet {

/// Fields in order: groups, axis, epsilon, center, scale, beta_initializer,
/// gamma_initializer, beta_regularizer, gamma_regularizer, name
struct GroupNormalizationOptions {
  int64_t groups = 32;  ///< -1: one for each channel (instance normalization)
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

/// Normalizes each sample by the mean and the biased variance of its groups of
/// neighbouring channels, over all pixels or steps. Parameters: gamma [c]
/// (ones) and beta [c] (zeros), unless switched off by scale and center.
/// Shapes: [n,...,c] -> [n,...,c], up to images.
/// Throws: ValueError for groups < 1 but -1, or an epsilon that is not
/// positive; UnsupportedError for another axis than the last; ShapeError for
/// rank < 2 or > 4, or channels that the groups do not divide.
/// Source: Wu and He 2018, arXiv 1803.08494, eq. 7.
class GroupNormalization : public LayerHandle {
 public:
  explicit GroupNormalization(const GroupNormalizationOptions& options = {});
};

}  // namespace octet
