#pragma once

#include <vector>

#include <octet/layers/graph.h>

namespace octet {

/// Fields in order: groups, axis, epsilon, center, scale, beta_initializer,
/// gamma_initializer, beta_regularizer, gamma_regularizer, name
struct GroupNormalizationOptions {
  int64_t groups = 32;  ///< -1: one per channel (instance normalization)
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

/// Normalizes each group of adjacent channels of a sample by its mean and
/// biased variance over all pixels or steps. Parameters: gamma [c] (ones) if
/// `scale`, beta [c] (zeros) if `center`.
/// Shapes: [n,...,c] -> [n,...,c], rank 2 to 4.
/// Throws: ValueError for groups < 1 other than -1, or an epsilon <= 0;
/// UnsupportedError for an axis other than the last; ShapeError for rank < 2 or
/// > 4, or groups that do not divide the channels.
/// Source: Wu and He 2018, arXiv 1803.08494, eq. 7.
class GroupNormalization : public LayerHandle {
 public:
  explicit GroupNormalization(const GroupNormalizationOptions& options = {});
};

}  // namespace octet
