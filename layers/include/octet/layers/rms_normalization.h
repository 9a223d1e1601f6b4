#pragma once

#include <vector>

#include <octet/layers/graph.h>

namespace octet {

/// Fields in order: axis, epsilon, name
struct RMSNormalizationOptions {
  std::vector<int64_t> axis = {-1};
  float epsilon = 1e-6f;
  std::string name = "";
};

/// Computes scale * x / sqrt(mean(x^2) + epsilon) over the last axis.
/// Parameters: scale [c] (ones).
/// Shapes: [n,...,c] -> [n,...,c].
/// Throws: ValueError for an epsilon <= 0; UnsupportedError for an axis other
/// than the last; ShapeError for rank < 2.
/// Source: Zhang and Sennrich 2019, arXiv 1910.07467, eq. 4.
class RMSNormalization : public LayerHandle {
 public:
  explicit RMSNormalization(const RMSNormalizationOptions& options = {});
};

}  // namespace octet
