#pragma once

#include <cstdint>
#include <vector>

#include <octet/layers/graph.h>

namespace octet {

/// Fields in order: alpha_initializer, alpha_regularizer, shared_axes, name
struct PReLUOptions {
  Initializer alpha_initializer = zeros();
  Regularizer alpha_regularizer = {};
  std::vector<int64_t> shared_axes =
      {};  ///< e.g. {1, 2}: one slope per channel
  std::string name = "";
};

/// Computes x > 0 ? x : alpha * x with one slope per feature, shared along
/// shared_axes. Parameter: alpha, with the shape of one sample and size 1 along
/// the shared axes.
/// Throws: ValueError for the batch as shared axis or an axis out of range;
/// ShapeError for rank < 2.
class PReLU : public LayerHandle {
 public:
  explicit PReLU(const PReLUOptions& options = {});
};

}  // namespace octet
