#pragma once

#include <cstdint>
#include <vector>

#include <octet/layers/graph.h>

namespace octet {

/// Fields in order: alpha_initializer, alpha_regularizer, shared_axes, name
struct PReLUOptions {
  Initializer alpha_initializer = zeros();
  Regularizer alpha_regularizer = {};
  std::vector<int64_t> shared_axes = {};  ///< e.g. {1, 2}: one slope a channel
  std::string name = "";
};

/// x > 0 ? x : alpha * x with a slope for every feature, or one for all
/// positions along the shared axes. Parameter: alpha, of the shape of one
/// sample with size 1 along the shared axes.
/// Throws: ValueError for a shared axis that is the batch or not there.
class PReLU : public LayerHandle {
 public:
  explicit PReLU(const PReLUOptions& options = {});
};

}  // namespace octet
